# SPDX-License-Identifier: BSD-3-Clause
# poll, epoll_wait, nanosleep, select, semop, sem_timedwait return EINTR in spite of SA_RESTART.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/eintr/host
CPUPROFILE_FREQUENCY=10000 same_as_bare cpu all "$host"
grep failed "$work/all.out"
check_valid "$work/all.pb"
check_stack "$work/all.pb" 'burn.*;work'
finish
