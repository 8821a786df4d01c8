# SPDX-License-Identifier: BSD-3-Clause
# Trap: samples that are lost are lost without a word, and the profile shows less than there was. Each loss is
# counted by its cause, in cprof_get_stats() and in the profile's comments: a full buffer, no memory for one,
# a thread that has paused.
. "$srcdir/tests/lib/e2e.sh"

cat >"$work/lost.c" <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cprof.h"
static struct cprof_stats stats = { .size = sizeof(stats) };
__attribute__((noinline)) static int burn_until_lost(const uint64_t *loss, int depth)
{
	volatile int sum = 0;
	if (depth) {
		sum = burn_until_lost(loss, depth - 1);
		__asm__ volatile("" ::: "memory");
		return sum;
	}
	for (clock_t end = clock() + 5 * CLOCKS_PER_SEC; clock() < end;) {
		for (int i = 0; i < 100000; i++)
			sum += i;
		cprof_get_stats(&stats);
		if (*loss >= 10)
			return 0;
	}
	printf("nothing was lost\n");
	return 1;
}
/* Is it in a wait, with nothing that others wait for? */
static int waits(int pid, int tid)
{
	char path[64];
	int number = -1;
	FILE *f;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &number) != 1)
		number = -1;
	if (f)
		fclose(f);
	/* For a signal, once it has a control socket. */
	return number == SYS_futex || number == SYS_rt_sigtimedwait;
}
/* In a child: stops all tasks of the process but main until it is killed. */
static void hold_others(int pid, int said)
{
	struct dirent *e;
	char path[64];
	int status;
	DIR *d;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while ((e = readdir(d))) {
		int tid = atoi(e->d_name);
		if (tid <= 0 || tid == pid)
			continue;
		if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
			_exit(write(said, "n", 1) != 1);
		do {
			ptrace(PTRACE_CONT, tid, 0, 0);
			ptrace(PTRACE_INTERRUPT, tid, 0, 0);
			waitpid(tid, &status, __WALL);
		} while (!waits(pid, tid));
	}
	if (write(said, "y", 1) == 1)
		pause();
	_exit(0);
}
/* Whoever empties the buffers, in a thread that is not this one's, doesn't come to it. */
static void full_buffer(void)
{
	int said[2], pid = getpid(), child;
	char held = 'n';
	if (pipe(said) < 0)
		exit(5);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	child = fork();
	if (!child)
		hold_others(pid, said[1]);
	if (read(said[0], &held, 1) == 1 && held == 'y')
		burn_until_lost(&stats.lost_ring, 450);
	else
		printf("may not trace\n");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
static void *without_memory(void *arg)
{
	struct rlimit old, none;
	getrlimit(RLIMIT_AS, &old);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_AS, &none);
	burn_until_lost(&stats.lost_memory, 0);
	setrlimit(RLIMIT_AS, &old);
	return arg;
}
int main(int argc, char **argv)
{
	struct cprof_options options = CPROF_OPTIONS_INIT;
	pthread_t t;
	options.cpu_path = argv[argc - 1];
	options.frequency = 1000;
	if (cprof_start(&options))
		return 2;
	pthread_create(&t, NULL, without_memory, NULL);
	pthread_join(t, NULL);
	full_buffer();
	cprof_thread_pause();
	burn_until_lost(&stats.lost_paused, 0);
	cprof_thread_resume();
	if (cprof_stop() || cprof_get_stats(&stats))
		return 4;
	printf("%lu ring full, %lu no memory; %lu in paused threads\n", (unsigned long)stats.lost_ring,
	       (unsigned long)stats.lost_memory, (unsigned long)stats.lost_paused);
	printf("%lu taken for %lu expiries\n", (unsigned long)stats.samples, (unsigned long)stats.expiries);
	return 0;
}
END
$CC -O1 -g -w -I"$srcdir/include" -o "$work/lost" "$work/lost.c" "$CP_LIBRARY" -Wl,-rpath,"${CP_LIBRARY%/*}" -pthread ||
	fail "not built"
limit=$bounded
ends_well bare lost "$work/lost" "$work/lost.pb"
grep -q 'may not trace' "$work/lost.out" && skip "a process may not trace another here"
# Said once, with what can be done.
[ "$(grep -c '^libcprof: ' "$work/lost.err")" -le 2 ] && grep -q '^libcprof: the cpu profile lacks samples' "$work/lost.err" ||
	fail "said: $(cat "$work/lost.err")"
check_valid "$work/lost.pb"
grep -q 'nothing was lost' "$work/lost.out" && fail "a loss is missing"
grep -qE '^[1-9][0-9]+ ring full, [1-9][0-9]+ no memory; [1-9][0-9]+ in paused threads' "$work/lost.out" ||
	fail "cprof_get_stats: $(cat "$work/lost.out")"
comment=$("$pprof_check" --comments "$work/lost.pb" | grep '^samples: ')
for part in ' ring full' ' no memory' ' in paused threads' ' taken for' ' expiries'; do
	told=$(grep -oE "[0-9]+$part" "$work/lost.out" | head -n 1)
	[[ $comment == *" $told"* ]] || fail "'$told' by cprof_get_stats, '$comment' in the profile"
done
finish
