# SPDX-License-Identifier: BSD-3-Clause
# A sample of a thread that has had some makes no system call: between the signal and the return from its handler
# the kernel sees nothing. Nor does it in a child that was forked while a module went.
. "$srcdir/tests/lib/e2e.sh"

need strace
strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"

# Between two marks a thread computes, and asks now and then how many samples there are. Its first samples map its ring, and make
# sure of the memory that a walk from there reads.
traced() { # name command...
	traced_name=$1
	shift
	ends_well bare "$traced_name" strace -f -o "$work/$traced_name.calls" -E CPUPROFILE_FREQUENCY=500 \
		-E CPUPROFILE="$work/$traced_name.pb" -E LD_PRELOAD="$CP_LIBRARY" "$@"
	awk -v first=5 '
		/ getsid\(0/ { computes[$1] = !computes[$1]; next }
		# "PID rest": the calls of the thread between its signal and the return
		computes[$1] && /--- SIGPROF/ { inside[$1] = 1; samples[$1]++; all++; next }
		inside[$1] && /rt_sigreturn/ { inside[$1] = 0; next }
		inside[$1] && samples[$1] > first { calls++; if (calls <= 5) print "in a handler: " $0 }
		END {
			print all + 0 " samples, " calls + 0 " system calls in them"
			exit all < 50 || calls > 0
		}' "$work/$traced_name.calls" || fail "$traced_name: samples make system calls, or there were too few"
	check_valid "$work/$traced_name.pb"*
}

cat >"$work/compute.h" <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "cprof.h"
#pragma weak cprof_get_stats
static uint64_t samples(void)
{
	struct cprof_stats stats = { .size = sizeof(stats) };
	cprof_get_stats(&stats);
	return stats.samples;
}
static double used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static void *compute(void *arg)
{
	volatile int sum = 0;
	uint64_t before = samples();
	syscall(SYS_getsid, 0);
	/* Enough samples, however much CPU time passes between two: on a virtual machine that has to wait itself it
	 * is far more than a tick. And few enough for half a ring: a fork's child, which has no collector, would then
	 * drain it in a handler, and that is system calls. */
	while (samples() - before < 120 && used() < 20)
		for (int i = 0; i < 1000000; i++)
			sum += i;
	syscall(SYS_getsid, 0);
	return arg;
}
END
cat >"$work/threads.c" <<'END'
#include "compute.h"
#include <pthread.h>
int main(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, compute, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
cat >"$work/plugin.c" <<'END'
int fork(void);
extern int child;
__attribute__((destructor)) static void gone(void)
{
	child = fork() == 0;
}
END
cat >"$work/host.c" <<'END'
#include "compute.h"
#include <dlfcn.h>
#include <sys/wait.h>
int child;
int main(int argc, char **argv)
{
	int status = 1;
	dlclose(dlopen(argv[1], RTLD_NOW));
	if (!child)
		return wait(&status) < 0 || status;
	compute(0);
	return 0;
}
END
$CC -shared -fPIC -o "$work/plugin.so" "$work/plugin.c" && $CC -O1 -rdynamic -I"$srcdir/include" -o "$work/host" "$work/host.c" &&
	$CC -O1 -pthread -I"$srcdir/include" -o "$work/threads" "$work/threads.c" || fail "not built"
traced threads "$work/threads"
traced forked "$work/host" "$work/plugin.so"
finish
