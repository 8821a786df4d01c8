# SPDX-License-Identifier: BSD-3-Clause
# Trap: a descriptor's number is closed in any way and opened again as another kind of thing.
. "$srcdir/tests/lib/io.sh"
limit=$bounded
# The children (of popen) have files of their own.
same_as_bare io on ./tests/traps/io_numbers_reused/host
check_io_counts "$work/on.pb" "write unix" 7 7 0
check_io_counts "$work/on.pb" "write device" 5 5 0
check_io_counts "$work/on.pb" "write pipe" 1 1 0
check_io_counts "$work/on.pb" "read directory" 1 0 1
finish
