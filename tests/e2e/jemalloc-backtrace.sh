# SPDX-License-Identifier: BSD-3-Clause
# jemalloc's own profiler (opt.prof) unwinds by libcprof, with and without a mode, unless CPROF_JEMALLOC_BACKTRACE=0
# leaves its own unwinder; cprof_backtrace finds the same stacks. A jemalloc that doesn't profile is left alone.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/e2e/jemalloc-backtrace-host
jemalloc=$(ldconfig -p 2>/dev/null | sed -n 's/.*libjemalloc\.so\.2.* => //p' | head -n 1)

ends_well bare alone env LD_PRELOAD="$CP_LIBRARY" $host
[ "$(cat "$work/alone.out")" = 'whose: none
own: 1' ] || fail "without jemalloc: $(cat "$work/alone.out")"
[ "$jemalloc" ] || { echo "# there is no libjemalloc.so.2"; finish; }
told() { # name settings...
	name=$1
	shift
	runs_well bare "$name" env -u MALLOC_CONF LD_PRELOAD="$CP_LIBRARY $jemalloc" "$@" $host
}
told idle MALLOC_CONF=prof:true
grep -q '^whose: .*jemalloc' "$work/idle.out" || grep -q '^whose: .*libcprof' "$work/idle.out" ||
	{ echo "# this jemalloc can't profile itself"; finish; }
told cpu MALLOC_CONF=prof:true,lg_prof_sample:0 CPUPROFILE="$work/cpu.pb"
for name in idle cpu; do
	[ "$(sed 's,/.*/,,' "$work/$name.out")" = 'whose: libcprof.so
hook: 1
own: 1' ] || fail "$name: $(cat "$work/$name.out")"
done
told left MALLOC_CONF=prof:true CPROF_JEMALLOC_BACKTRACE=0
grep -q '^whose: .*libjemalloc' "$work/left.out" || fail "CPROF_JEMALLOC_BACKTRACE=0: $(cat "$work/left.out")"
told left-cpu MALLOC_CONF=prof:true CPROF_JEMALLOC_BACKTRACE=0 CPUPROFILE="$work/cpu.pb"
grep -q '^whose: .*libjemalloc' "$work/left-cpu.out" || fail "the same in a mode: $(cat "$work/left-cpu.out")"
told unprofiled CPUPROFILE="$work/cpu.pb"
grep -q '^whose: none' "$work/unprofiled.out" || fail "without opt.prof: $(cat "$work/unprofiled.out")"
finish
