# SPDX-License-Identifier: BSD-3-Clause
# Trap: a signal of the profiler arrives together with a signal of the program that should end a blocking call. The
# profiler's handlers restart calls, and if the kernel delivers the profiler's signal first, the call goes on for
# ever. And when the profiler calls the program's handler for SIGPROF, calls end as that handler's flags say.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/interrupted_calls/host
limit="timeout -s KILL 20"
for call in read readv2 recv recvmmsg sendmmsg wait waitv sem lock open creat openat2; do
	for how in sample dump own; do
		same_as_bare cpu "$how-$call" $host $how $call
	done
done
for how in restart own-restart; do
	ends_well profiled "$how" $host $how
done
for file in "$work"/*.pb; do
	check_valid "$file"
done
finish
