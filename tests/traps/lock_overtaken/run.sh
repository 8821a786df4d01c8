# SPDX-License-Identifier: BSD-3-Clause
# Trap: a lock looks free, another thread has it before libc can, and the wait is not seen. Or it is
# held, and given back before libc comes to it: that is no wait, and the holder of a lock that many want
# has no time to read a clock. (Spinning is waiting.)
. "$srcdir/tests/lib/lock.sh"
$CC -O2 -fPIC -shared -o "$work/overtaker.so" "$srcdir/tests/traps/lock_overtaken/lock-overtaker.c" || skip "no compiler"
inner=$work/overtaker.so
limit=$bounded CPROF_LOCK_THRESHOLD=0 lock_profiled on ./tests/traps/lock_overtaken/host
check_ended on 0
[ ! -s "$work/on.out" ] || fail "$(cat "$work/on.out")"
check_valid_as lock "$work/on.pb"
for kind in mutex:mutex mtx:mtx read:reads write:writes sem:sem; do
	waits=$(lock_values "$work/on.pb" "(^|;)wait_${kind%:*};" "^${kind#*:}\$" | cut -d' ' -f1)
	[ "$waits" = 5 ] || fail "${kind%:*}: $waits waits of 5"
done
for kind in back:0 adaptive:5; do
	waits=$(lock_values "$work/on.pb" "(^|;)get_${kind%:*};" "^${kind%:*}\$" | cut -d' ' -f1)
	[ "$waits" = "${kind#*:}" ] || fail "${kind%:*}: $waits waits, not ${kind#*:}"
done
finish
