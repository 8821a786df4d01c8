# SPDX-License-Identifier: BSD-3-Clause
# usage: musl.sh TRAP... -- PROGRAM...
# make musl-check: runs the traps' scripts with programs that musl-gcc compiles and the library for musl, in musl/ below
# the build directory: the TRAPs, or all but those that do not apply as tests/traps/musl.txt says.
#
# The programs that start the traps' own (env, sh, timeout) are glibc's, which refuse a library of musl's. LD_PRELOAD
# names it by $LIB, which glibc's loader replaces by the folder of its libraries and musl's doesn't: in glibc's
# programs a library without contents is preloaded.
set -u
: "${srcdir:?is the source directory}" "${MAKE:?}"
. "$srcdir/tests/lib/elsewhere.sh"
take_arguments "$@"
[ "$named" != 0 ] || mapfile -t tests < <(cd "$srcdir/tests/traps" && dirname */run.sh)
tools=$PWD
srcdir=$(cd "$srcdir" && pwd)
cd musl || exit
eval "$("$MAKE" -s tests-environment | tail -n 1)"
both=$PWD/both
# shellcheck disable=SC2016
mkdir -p "$both/\$LIB" "$both/lib64" "$both/lib/$(uname -m)-linux-gnu" tests/tools tests/faults
ln -sf "$PWD/.libs/libcprof.so.0" "$both/\$LIB/libcprof.so"
gcc -shared -nostdlib -x c /dev/null -o "$both/lib/libcprof.so" || exit
cp "$both/lib/libcprof.so" "$both/lib64/"
cp "$both/lib/libcprof.so" "$both/lib/$(uname -m)-linux-gnu/"
ln -sf "$tools"/tests/tools/* tests/tools/
# The injector traces programs of either libc.
ln -sf "$tools/tests/faults/inject" tests/faults/
# CP_LIBC: for a part of a script that is for programs of one libc.
export CP_LIBRARY="$both/\$LIB/libcprof.so" CP_LIBC=musl srcdir
export CC="$CC -idirafter $PWD/sysroot/include" CXX="bash $srcdir/tests/lib/musl-g++.sh -idirafter $PWD/sysroot/include"
export LD_LIBRARY_PATH=$PWD/.libs

what=musl left_out=$srcdir/tests/traps/musl.txt
make_programs() {
	"$MAKE" -k -s CXX="$CXX" "$@"
}
run_elsewhere
