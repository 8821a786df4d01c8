# SPDX-License-Identifier: BSD-3-Clause
# Trap: input and output are cancellation points where libc's functions are, and nowhere else; a cancelled call unwinds
# through the profiler's function.
. "$srcdir/tests/lib/io.sh"
limit=$bounded
for wakers in 0 1; do
	CPROF_IO_WAKERS=$wakers same_as_bare io on$wakers ./tests/traps/io_cancelled_call/host
	check_valid_as io "$work/on$wakers.pb"
done
finish
