# SPDX-License-Identifier: BSD-3-Clause
# A program forbids itself system calls that the profiler would make: the calls must not kill it. The samples so far
# are written before. A mere question whether there is seccomp changes nothing, nor does an attempt that the kernel
# refuses.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for way in probe blind refused filter filter-by-number filter-with-right strict filter-threads; do
	bare "$way-bare" ./tests/traps/hosts/sandbox "$way"
	[ "$status" = 0 ] || skip "$way: no seccomp here"
	ends_well profiled "$way" ./tests/traps/hosts/sandbox "$way"
	check_same_output "$way" "$way-bare"
	check_valid "$work/$way.pb"
done
for way in probe refused; do
	check_stack "$work/$way.pb" 'work;main'
	check_quiet $way
done
# Forks and execs go on, in every mode, and so do threads after a stop.
export WALLPROFILE="$work/wall.pb" HEAPPROFILE="$work/heap.pb" LOCKPROFILE="$work/lock.pb" CPROF_HEAP_VIEWS=mmap CPROF_HEAP_INTERVAL=1
for way in filter-forks filter-forks-threads filter-forks-stopped filter-execs forks-strict; do
	env -u WALLPROFILE -u HEAPPROFILE -u LOCKPROFILE ./tests/traps/hosts/sandbox "$way" >"$work/$way-bare.out" ||
		fail "$way: fails by itself"
	ends_well profiled "$way" ./tests/traps/hosts/sandbox "$way"
	check_same_output "$way" "$way-bare"
	check_valid "$work/$way.pb"
done
check_stack "$work/filter.pb" 'work;filter'
check_stack "$work/filter-forks.pb" 'work;filter_forks'
check_comment "$work/filter.pb" 'note: profiling ended before the program: it restricts its system calls \(seccomp\)'
check_quiet filter
# An earlier filter ends only the thread that would end the process in the signal's place: the others go on to their end.
cat >"$work/host.c" <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *work(void *unused)
{
	for (volatile unsigned sum = 0;; sum++)
		;
	return unused;
}
int main(int argc, char **argv)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(rules) / sizeof(*rules), rules };
	pthread_t thread;
	if (argc > 1)
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ||
		       execv(argv[1], argv + 1);
	pthread_create(&thread, NULL, work, NULL);
	usleep(100000);
	pthread_kill(thread, SIGTERM);
	sleep(1);
	return 7;
}
END
$CC -O1 -D_GNU_SOURCE -o "$work/host" "$work/host.c" -pthread || fail "not built"
bare killed "$work/host" /usr/bin/env -u WALLPROFILE -u HEAPPROFILE -u LOCKPROFILE LD_PRELOAD="$CP_LIBRARY" \
	CPUPROFILE="$work/killed.pb" "$work/host"
check_status killed 7
check_valid "$work/killed.pb"
finish
