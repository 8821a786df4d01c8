# SPDX-License-Identifier: BSD-3-Clause
# Preloaded with no mode on: no thread, no timer, no handler, no descriptor.
. "$srcdir/tests/lib/e2e.sh"
bare bare ./tests/traps/hosts/idle
status=0
LD_PRELOAD=$CP_LIBRARY ./tests/traps/hosts/idle >"$work/idle.out" 2>"$work/idle.err" || status=$?
check_status idle 0
check_same_output idle bare
[ -s "$work/idle.err" ] && fail "an idle library says: $(cat "$work/idle.err")"
grep -q '^Threads:.*1$' "$work/idle.out" || fail "/proc shows no threads"

# That the same look would find us: with the mode on, all of it differs.
profiled on ./tests/traps/hosts/idle
for line in Threads SigCgt; do
	a=$(grep "^$line" "$work/bare.out") b=$(grep "^$line" "$work/on.out")
	[ "$a" != "$b" ] || fail "$line is not what shows a profiler"
done

# The same for a program that CPROF_ONLY leaves out, or that CPROF_FOLLOW=0 does.
CPROF_ONLY=another profiled left-out ./tests/traps/hosts/idle
check_same_output left-out bare
check_quiet left-out
[ -e "$work/left-out.pb" ] && fail "CPROF_ONLY: a file was written"
finish
