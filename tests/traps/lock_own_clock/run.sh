# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program, or a library that tells it other times, has a clock_gettime of its own that takes
# a lock. Asked for the time at that lock it comes back to it, until the stack is used up, or it waits
# for itself; and the times are not what passes.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
same_as_bare lock clock ./tests/traps/lock_own_clock/host
check_valid_as lock "$work/clock.pb"
# Of four threads three wait, nearly all of the time.
took=$(sed -n 's/^took //p' "$work/clock.err")
waited=$(lock_ns "$work/clock.pb" . clock_mutex)
awk -v waited="$waited" -v took="$took" 'BEGIN { exit !(waited > took && waited < 4 * took) }' ||
	fail "waits of $waited ns, of 4 threads in $took ns"
finish
