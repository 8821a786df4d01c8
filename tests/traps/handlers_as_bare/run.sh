# SPDX-License-Identifier: BSD-3-Clause
# Trap: a handler of the program sees another stack, mask, context or caller than without the profiler. One that
# needed more than the alternate stack, which it had not asked for, died; user threads that it switched got each
# other's turns; its backtrace named the profiler.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/handlers_as_bare/host
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for how in table itimer switches guard; do
	bare "bare-$how" $host $how
	expected=$status
	for mode in CPU HEAP; do
		profiled_by ${mode}PROFILE "$how-$mode" $host $how
		check_status "$how-$mode" "$expected"
		check_same_output "$how-$mode" "bare-$how"
		diff "$work/bare-$how.out" "$work/$how-$mode.out" | head -n 4
		check_quiet "$how-$mode"
	done
done
finish
