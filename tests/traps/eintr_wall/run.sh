# SPDX-License-Identifier: BSD-3-Clause
# EINTR under the wall clock: poll, nanosleep, pause and their like see none, and send on a full
# socket is never short, however often threads are looked at. WAITS_SECONDS: how long for each run.
. "$srcdir/tests/lib/e2e.sh"
seconds=${WAITS_SECONDS:-1}
host=./tests/traps/eintr_wall/host
chmod 777 "$work"
export WALLPROFILE_FREQUENCY=1000

walled() { # name command...
	name=$1
	shift
	bare "$name" env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/$name.wall.pb" "$@"
	check_status "$name" 0
	check_same_output "$name" bare
	grep failed "$work/$name.out"
}

ends_well bare bare "$host" 0.3
walled alone "$host" "$seconds"
check_quiet alone
check_valid_as wall "$work/alone.wall.pb"
for call in nanosleep ppoll select pselect epoll_wait epoll_pwait sem_timedwait futex recv accept \
	sigtimedwait semtimedop pause sigsuspend msgrcv send; do
	check_stack "$work/alone.wall.pb" "in_$call;wait_again_and_again"
done
# in_poll may be gone: its last call is poll.
check_stack "$work/alone.wall.pb" '([[:space:]]|;)(in_)?poll;wait_again_and_again'
check_stack "$work/alone.wall.pb" 'burn;wait_again_and_again'
# A CPU profile beside it shares the signal and the buffers.
walled both CPUPROFILE="$work/both.cpu.pb" CPUPROFILE_FREQUENCY=1000 CPROF_CPU_ENGINE=timer "$host" "$seconds" timers
check_valid_as wall "$work/both.wall.pb"
check_valid "$work/both.cpu.pb"
# If /proc does not show which threads wait, a waiting thread gets no signal either.
walled hidden "$host" "$seconds" hidden
check_valid_as wall "$work/hidden.wall.pb"
check_comment "$work/hidden.wall.pb" "stacks of waiting threads can't be seen"
check_stack "$work/hidden.wall.pb" 'burn;wait_again_and_again'
finish
