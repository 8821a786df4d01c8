# SPDX-License-Identifier: BSD-3-Clause
# Trap: counting a call, asking what its descriptor is and taking its stack change errno.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/io.sh"
limit=$bounded
bare bare ./tests/traps/io_errno_kept/host
check_status bare 0
CPROF_IO_BUDGET=1000000 io_profiled on ./tests/traps/io_errno_kept/host
check_status on 0
check_same_output on bare
check_quiet on
finish
