# SPDX-License-Identifier: BSD-3-Clause
# Trap: a real-time thread's children are real-time. The collector, and the helper at the end, would then run before
# all ordinary threads.
. "$srcdir/tests/lib/e2e.sh"
need chrt taskset
chrt -f 1 true 2>/dev/null || skip "no real-time priority is allowed here"
limit=$bounded

cat >"$work/host.c" <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "host.h"
/* musl has no such function. */
#define sched_getscheduler(tid) syscall(SYS_sched_getscheduler, tid)
static pthread_barrier_t both;
static volatile int own;
static void *thread(void *arg)
{
	own = gettid();
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return arg;
}
/* Tasks that the program didn't make, or -1: one of them is real-time. */
static int others(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0, realtime = 0;
	while ((e = readdir(d))) {
		int tid = atoi(e->d_name);
		if (!tid || tid == getpid() || tid == own)
			continue;
		n++;
		realtime += sched_getscheduler(tid) != SCHED_OTHER;
	}
	closedir(d);
	return realtime ? -1 : n;
}
/* They may just have begun. */
static void look(int wanted)
{
	int n = others();
	for (int i = 0; i < 2000 && (n < 0 || (wanted && !n)); i++) {
		usleep(10000);
		n = others();
	}
	printf("%s, %s\n", n < 0 ? "real-time" : n ? "ordinary" : "none", sched_getscheduler(0) == SCHED_FIFO ? "itself real-time" : "itself not");
}
int main(int argc, char **argv)
{
	pthread_t t;
	burn_and_tick(0.05);
	look(argc > 1);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, thread, NULL);
	pthread_barrier_wait(&both);
	look(argc > 1);
	pthread_barrier_wait(&both);
	pthread_join(t, NULL);
	return 0;
}
END
$CC -O1 -w -pthread -I"$srcdir/tests/lib" -o "$work/host" "$work/host.c" || fail "not built"
printf '#!/bin/sh\nchrt -p $$ >"%s"\n' "$work/helper.said" >"$work/helper"
chmod +x "$work/helper"
ends_well bare bare chrt -f 1 "$work/host"
[ "$(sort -u "$work/bare.out")" = "none, itself real-time" ] || fail "bare: $(cat "$work/bare.out")"
export CPROF_ONLY=host CPROF_SYMBOLIZE=full _CPROF_HELPER=$work/helper
profiles_well profiled realtime chrt -f 1 "$work/host" profiled
[ "$(sort -u "$work/realtime.out")" = "ordinary, itself real-time" ] || harm "collector: $(cat "$work/realtime.out")"
grep -q SCHED_OTHER "$work/helper.said" || fail "helper: $(cat "$work/helper.said" 2>&1)"

# On a single processor, a thread that waits for our task must give it the processor.
unset CPROF_ONLY _CPROF_HELPER
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
bare alone-bare taskset -c "$cpu" chrt -f 1 ./tests/traps/hosts/sandbox unshare-user
if [ "$status" = 0 ]; then
	for n in 1 2 3; do
		ends_well profiled alone taskset -c "$cpu" chrt -f 1 ./tests/traps/hosts/sandbox unshare-user
		check_same_output alone alone-bare
	done
fi

# A thread with a deadline may make no other: the comment says that, and nothing of limits.
if chrt -d --sched-runtime 5000000 --sched-deadline 10000000 --sched-period 10000000 0 true 2>/dev/null; then
	ends_well profiled deadline chrt -d --sched-runtime 5000000 --sched-deadline 10000000 --sched-period 10000000 0 ./tests/traps/hosts/moves
	check_comment "$work/deadline.pb" 'no collector thread .SCHED_DEADLINE'
fi
finish
