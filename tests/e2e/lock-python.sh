#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# python3 with threads: they wait for the interpreter's lock, a condition, and for locks of their own,
# semaphores.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
need python3
limit=$bounded
# The interpreter itself, not a script that starts it.
python=$(python3 -c 'import sys; print(sys.executable)')
cat >"$work/threads.py" <<'END'
import queue, threading
lock, total, jobs = threading.Lock(), 0, queue.Queue()
def count():
    global total
    for i in range(1500):
        with lock:
            total += sum(range(200))
def consume():
    while jobs.get() is not None:
        pass
threads = [threading.Thread(target=count) for _ in range(6)] + [threading.Thread(target=consume)]
for t in threads: t.start()
for i in range(300): jobs.put(i)
jobs.put(None)
for t in threads: t.join()
print(total)
END
bare bare "$python" "$work/threads.py"
check_status bare 0
lock_profiled python "$python" "$work/threads.py"
check_status python 0
check_same_output python bare
check_quiet python
check_valid_as lock "$work/python.pb"
[ "$(lock_ns "$work/python.pb" '^pthread_cond_timedwait;')" -gt 0 ] || fail "nobody waited for the interpreter's lock"
[ "$(lock_ns "$work/python.pb" '^(sem_|pthread_cond_)[a-z]*wait;.*(PyThread_acquire_lock|python)')" -gt 0 ] ||
	fail "nobody waited for a lock of the program's"
finish
