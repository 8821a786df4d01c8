# SPDX-License-Identifier: BSD-3-Clause
# Trap: a vfork's child shares memory with its parent, but not the descriptors.
. "$srcdir/tests/lib/io.sh"
limit=$bounded
same_as_bare io on ./tests/traps/io_vfork_child/host
check_valid_as io "$work/on.pb"
check_io_counts "$work/on.pb" "write device" 1001 1001 0
check_io_counts "$work/on.pb" "write pipe" 1000 1000 0
finish
