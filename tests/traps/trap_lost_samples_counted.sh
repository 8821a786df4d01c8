#!/bin/bash
# Trap: samples that are lost are lost without a word, and the profile shows less than there was. Each loss is
# counted by its cause, in cprof_get_stats() and in the profile's comments: a full buffer, no memory for one,
# a thread that has paused.
. "$srcdir/tests/lib/e2e.sh"

cat >"$work/lost.c" <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
/* Whoever empties the buffers, in a thread that is not this one's, runs when nobody else wants to. */
static void full_buffer(void)
{
	struct sched_param none = { 0 };
	struct dirent *e;
	cpu_set_t here;
	DIR *d = opendir("/proc/self/task");
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
	while ((e = readdir(d))) {
		int tid = atoi(e->d_name);
		if (tid <= 0 || tid == getpid())
			continue;
		sched_setaffinity(tid, sizeof(here), &here);
		sched_setscheduler(tid, SCHED_IDLE, &none);
	}
	closedir(d);
	burn_until_lost(&stats.lost_ring, 450);
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
bare lost "$work/lost" "$work/lost.pb"
check_status lost 0
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
