# SPDX-License-Identifier: BSD-3-Clause
# Trap: nobody knows what the profiler costs itself. Each profile says how much time its samples took where they
# were taken, and the collector's; cprof_get_stats() knows the handlers', and CPROF_VERBOSE=1 says it at the end.
. "$srcdir/tests/lib/heap.sh"
. "$srcdir/tests/lib/lock.sh"

some='([1-9][0-9]*\.[0-9]{3}|0\.[0-9]*[1-9][0-9]*)'

cat >"$work/stats.c" <<'END'
#include <stdio.h>
#include <time.h>
#include "cprof.h"
int main(int argc, char **argv)
{
	struct cprof_options options = CPROF_OPTIONS_INIT;
	struct cprof_stats stats = { .size = sizeof(stats) };
	options.cpu_path = argv[argc - 1];
	options.frequency = 1000;
	if (cprof_start(&options))
		return 2;
	do
		cprof_get_stats(&stats);
	while (stats.samples < 20);
	return stats.handler_ns == 0 || cprof_stop() != 0;
}
END
$CC -O1 -w -I"$srcdir/include" -o "$work/stats" "$work/stats.c" "$CP_LIBRARY" -Wl,-rpath,"${CP_LIBRARY%/*}" || fail "not built"
ends_well bare stats "$work/stats" "$work/stats.pb"

CPUPROFILE_FREQUENCY=1000 CPROF_VERBOSE=1 ends_well profiled cpu ./tests/traps/hosts/cut-stacks 100
check_comment "$work/cpu.pb" "^cost: about $some ms of wall time in handlers \\([0-9]+\\.[0-9]{2} % of the program's CPU time\\)"
check_comment "$work/cpu.pb" "^cost: $some ms in the collector"
grep -qE "^libcprof: .*cost: about $some ms of wall time in handlers" "$work/cpu.err" || fail "not said at the end: $(cat "$work/cpu.err")"

# All that the collector's task uses is its own, its wake-ups too, and not time that the program spent and that lacks samples.
# The program sleeps until the process has used far more time than its own threads have, but not for ever.
cat >"$work/sleeps.c" <<'END'
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static clockid_t clock_of_main;
static double used(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static void *asleep(void *arg)
{
	for (int i = 0; i < 300 && used(CLOCK_PROCESS_CPUTIME_ID) < 4 * used(clock_of_main); i++)
		usleep(200000);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	pthread_getcpuclockid(pthread_self(), &clock_of_main);
	if (argc > 1)
		pthread_create(&t, NULL, asleep, NULL);
	asleep(NULL);
	return argc > 1 && pthread_join(t, NULL);
}
END
$CC -O1 -w -o "$work/sleeps" "$work/sleeps.c" -lpthread || fail "not built"
for threads in '' two; do
	label=sleeps$threads
	WALLPROFILE="$work/$label.wall.pb" WALLPROFILE_FREQUENCY=1000 ends_well profiled $label "$work/sleeps" $threads
	"$pprof_check" --comments "$work/$label.pb" >"$work/$label.said"
	used=$(sed -n 's/^cpu time: \([0-9]*\)\.\([0-9]*\) s used .*/\1\2/p' "$work/$label.said")
	own=$(sed -n 's/^cost: \([0-9]*\)\.[0-9]* ms in the collector.*/\1/p' "$work/$label.said")
	echo "$label: $used ms used by the program, $own ms by the collector"
	[ $((10#$used)) -lt "$own" ] || fail "$label: the collector's time is told as the program's"
done

# Rare samples, frequent ones, all.
for interval in 512K 4K 1; do
	CPROF_HEAP_INTERVAL=$interval ends_well heap_profiled heap ./tests/traps/hosts/heap-odd reuse
	check_heap "$work/heap.pb"
	check_comment "$work/heap.pb" "^cost: about $some ms of wall time in allocations that were sampled"
	check_comment "$work/heap.pb" "^cost: $some ms in the collector"
done
CPROF_LOCK_THRESHOLD=0 ends_well lock_profiled lock ./tests/e2e/lock-host holders
check_comment "$work/lock.pb" "^cost: about $some ms of wall time for stacks behind waits"
check_comment "$work/lock.holders.pb" "^cost: about $some ms of wall time for stacks behind unlocks"
check_comment "$work/lock.pb" "^cost: $some ms in the collector"
finish
