# SPDX-License-Identifier: BSD-3-Clause
# poll, epoll_wait, nanosleep, select, semop, sem_timedwait return EINTR in spite of SA_RESTART. Each call in a thread of
# its own; eintr_wall has the same under the wall clock.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/eintr_wall/host
CPUPROFILE_FREQUENCY=10000 same_as_bare cpu all "$host" 1 timers
grep failed "$work/all.out"
check_valid "$work/all.pb"
check_stack "$work/all.pb" 'burn.*;wait_again_and_again'
finish
