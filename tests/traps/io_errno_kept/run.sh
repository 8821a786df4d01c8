# SPDX-License-Identifier: BSD-3-Clause
# Trap: counting a call, asking what its descriptor is and taking its stack change errno.
. "$srcdir/tests/lib/io.sh"
limit=$bounded
for wakers in 0 1; do
	CPROF_IO_WAKERS=$wakers same_as_bare io on$wakers ./tests/traps/io_errno_kept/host
done
finish
