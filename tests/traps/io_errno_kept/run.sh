# SPDX-License-Identifier: BSD-3-Clause
# Trap: counting a call, asking what its descriptor is and taking its stack change errno.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/io.sh"
limit=$bounded
bare bare ./tests/traps/io_errno_kept/host
check_status bare 0
for wakers in 0 1; do
	CPROF_IO_WAKERS=$wakers io_profiled on$wakers ./tests/traps/io_errno_kept/host
	check_status on$wakers 0
	check_same_output on$wakers bare
	check_quiet on$wakers
done
finish
