# SPDX-License-Identifier: BSD-3-Clause
# Read-write locks: waiters and holders in every phase and for 1, 2, 3 and 8 threads on either side, compared with the
# program's own measurements.
. "$srcdir/tests/lib/lock.sh"

with_inner
runs_well lock_profiled phases ./tests/e2e/lock-phases-host
check_valid_as lock "$work/phases.pb" "$work/phases.holders.pb"
cells=0
while read -r cell lock around within part most; do
	cells=$((cells + 1))
	lock="^${lock/+/[+]}\$"
	waits=$(lock_ns "$work/phases.pb" ';wait_behind;' "$lock")
	check_waited "$cell: the waits" "$waits" "$around" "$within" 1 0
	# While nobody has the lock, a waiter is on its way. If another one comes first and goes again,
	# nothing says that somebody waits for it, and the holders are told of that time, too.
	check_waited "$cell: the holders" "$(lock_ns "$work/phases.holders.pb" '^pthread_rwlock_unlock;hold_first;' "$lock")" \
		"$most" "$part" 5 5
	check_near "$cell: all who unlocked" "$(lock_ns "$work/phases.holders.pb" . "$lock")" "$waits" 1
done <"$work/phases.out"
[ $cells = 27 ] || fail "$cells cells"
finish
