# SPDX-License-Identifier: BSD-3-Clause
# usage: musl.sh TRAP... -- PROGRAM...
# make musl-check: runs the traps' scripts with programs that musl-gcc compiles and the library for musl, in musl/ below
# the build directory: the TRAPs, or all but those that do not apply as tests/traps/musl.txt says. Prints a line for each
# trap that fails, and the numbers.
#
# The programs that start the traps' own (env, sh, timeout) are glibc's, which refuse a library of musl's. LD_PRELOAD
# names it by $LIB, which glibc's loader replaces by the folder of its libraries and musl's doesn't: in glibc's
# programs a library without contents is preloaded.
set -u
: "${srcdir:?is the source directory}" "${MAKE:?}"
traps=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	traps+=("${1#trap_}")
	shift
done
shift
named=${#traps[@]}
[ "$named" != 0 ] || mapfile -t traps < <(cd "$srcdir/tests/traps" && dirname */run.sh)
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

passed=0 failed=0 others=0
for trap in "${traps[@]}"; do
	if [ "$named" = 0 ] && grep -q "^$trap[[:blank:]]" "$srcdir/tests/traps/musl.txt"; then
		others=$((others + 1))
		continue
	fi
	log=trap_$trap.log
	needed=$(bash "$srcdir/tests/needed.sh" "tests/traps/$trap/run.sh" -- "$@" | grep -vE '^tests/(tools/|faults/inject$)')
	# What a script doesn't need after all may not compile.
	# shellcheck disable=SC2086
	[ -z "$needed" ] || "$MAKE" -k -s CXX="$CXX" $needed >"$log.make" 2>&1
	timeout -k 10 300 bash "$srcdir/tests/traps/$trap/run.sh" >"$log" 2>&1 </dev/null
	case $? in
	0) passed=$((passed + 1)) ;;
	77) others=$((others + 1)) && echo "musl: $trap: not applicable: $(sed -n 's/.*SKIP[: ]*//p' "$log" | head -n 1)" ;;
	*) failed=$((failed + 1)) && echo "musl: $trap: FAILED (musl/$log)" && grep -E 'FAIL|error:' "$log" | head -n 3 | cut -c 1-200 ;;
	esac
done
echo "musl: $passed passed, $failed failed, $others not applicable"
[ $failed = 0 ]
