# SPDX-License-Identifier: BSD-3-Clause
# Trap: a fork while another thread is in a call: the child begins with no counts, and its parent's stay.
. "$srcdir/tests/lib/io.sh"
limit=$bounded
same_as_bare io on ./tests/traps/io_fork_child/host
check_io_counts "$work/on.pb" "write device" 1000 3000 0
check_io_counts "$work/on.pb" "read pipe" 1 1 0
for child in "$work"/on.pb.*; do
	check_valid_as io "$child"
	check_io_counts "$child" "write device" 70 210 0
done
[ -e "${child:-}" ] || fail "the child has no file"
finish
