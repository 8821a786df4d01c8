# SPDX-License-Identifier: BSD-3-Clause
# Trap: input and output are cancellation points where libc's functions are, and nowhere else; a cancelled call unwinds
# through the profiler's function.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/io.sh"
limit=$bounded
bare bare ./tests/traps/io_cancelled_call/host
check_status bare 0
for wakers in 0 1; do
	CPROF_IO_WAKERS=$wakers io_profiled on$wakers ./tests/traps/io_cancelled_call/host
	check_status on$wakers 0
	check_same_output on$wakers bare
	check_quiet on$wakers
	check_valid_as io "$work/on$wakers.pb"
done
finish
