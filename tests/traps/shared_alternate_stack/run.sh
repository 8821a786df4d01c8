# SPDX-License-Identifier: BSD-3-Clause
# Several threads have the same alternate signal stack: two handlers there at once would overwrite each other's
# frames, and each thread goes on with the registers of the other.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/shared_alternate_stack/host
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for how in shared child storm apart; do
	ends_well profiled $how $host $how
	[ "$(cat "$work/$how.out")" = done ] || fail "$how: $(cat "$work/$how.out")"
	check_valid "$work/$how.pb"
done
check_stack "$work/shared.pb" 'burn.*;work'
# Stacks that aren't shared are used: a thread's own may be too small.
grep -q '^used: 1 1$' "$work/apart.err" || fail "apart: $(cat "$work/apart.err")"
finish
