# SPDX-License-Identifier: BSD-3-Clause
# usage: static.sh TEST... -- PROGRAM...
# make static-check: runs the traps and those of tests/e2e that profile programs of their own, with programs that are
# linked statically with libcprof.a: the TESTs, or all but those that do not apply as tests/static.txt says. LD_PRELOAD is
# there, and means nothing to such a program.
set -u
: "${srcdir:?is the source directory}" "${MAKE:?}"
srcdir=$(cd "$srcdir" && pwd)
build=$PWD
[ -e libcprof.a ] || { echo "make static-check: there is no libcprof.a (configure says why)" >&2; exit 1; }
. "$srcdir/tests/lib/elsewhere.sh"
take_arguments "$@"
if [ "$named" = 0 ]; then
	mapfile -t tests < <(cd "$srcdir/tests/traps" && dirname */run.sh)
	tests+=(accuracy api control control-threads dump-moment event flight gperftools heap-age heap-api heap-budget heap-census heap-exact
		heap-lifetimes heap-mappings heap-resident heap-sampled heap-sizes io io-wakers labels lock-longest lock-phases
		lock-tail lock-truth lock-wakers short-threads spans system-calls times trace wall wall-causes wall-ready)
fi
# The folder in which the scripts run has this build's tools, and programs of its own.
mkdir -p static-check
cd static-check || exit
mkdir -p tests/tools tests/faults
ln -sfn "$build/.libs" .libs
ln -sfn "$build/cprof" cprof
ln -sf "$build"/tests/tools/* tests/tools/
ln -sf "$build"/tests/faults/* tests/faults/
export CP_LIBRARY="$build/.libs/libcprof.so" CP_LIBC=static srcdir

what=static left_out=$srcdir/tests/static.txt
make_programs() {
	local program at
	for program; do
		at=$PWD/$program
		if [[ $program == *.la || $program == *.so ]]; then
			"$MAKE" -s -C "$build" "$program" && mkdir -p "${at%/*}" && ln -sfn "$build/${program%/*}/.libs" "${at%/*}/.libs"
			continue
		fi
		# It isn't known to depend on libcprof.a.
		rm -f "$build/$program.static"
		"$MAKE" -s -C "$build" EXEEXT=.static "$program.static" "$(tr / _ <<<"${program//-/_}")_LDADD=-lm" \
			LDFLAGS=-all-static LIBS="$build/libcprof.a -Wl,@$build/libcprof.options" &&
			mkdir -p "${at%/*}" && ln -sfn "$build/$program.static" "$at"
	done
}
run_elsewhere
