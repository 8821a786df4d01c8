# SPDX-License-Identifier: BSD-3-Clause
# Trap: nobody knows what the profiler costs itself. Each profile says how much time its samples took where they
# were taken, and the collector's; cprof_get_stats() knows the handlers', and CPROF_VERBOSE=1 says it at the end.
. "$srcdir/tests/lib/heap.sh"
. "$srcdir/tests/lib/lock.sh"

some='([1-9][0-9]*\.[0-9]{3}|0\.[0-9]*[1-9][0-9]*)'

program_ms() { # comments of a CPU profile
	sed -n 's/^cpu time: \([0-9]*\)\.\([0-9]*\) s used .*/\1\2/p' "$1"
}

collector_ms() { # comments of a profile
	sed -n 's/^cost: \([0-9]*\)\.[0-9]* ms in the collector.*/\1/p' "$1"
}

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
	used=$(program_ms "$work/$label.said")
	own=$(collector_ms "$work/$label.said")
	echo "$label: $used ms used by the program, $own ms by the collector"
	[ $((10#$used)) -lt "$own" ] || fail "$label: the collector's time is told as the program's"
done

# Nor is what a thread of the program does in its place, in either engine: dumps that it asks for.
cat >"$work/dumps.c" <<'END'
#include <stdlib.h>
#include <time.h>
#include "cprof.h"
static double used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static void stacks(unsigned bits, int depth);
static void *keep;
__attribute__((noinline)) static void left(unsigned bits, int depth)
{
	stacks(bits >> 1, depth);
	__asm__ volatile("");
}
__attribute__((noinline)) static void right(unsigned bits, int depth)
{
	stacks(bits >> 1, depth);
	__asm__ volatile("");
}
static void stacks(unsigned bits, int depth)
{
	if (!depth)
		keep = malloc(16);
	else if (bits & 1)
		left(bits, depth - 1);
	else
		right(bits, depth - 1);
}
int main(void)
{
	double began = used();
	for (unsigned i = 0; i < 8192; i++)
		stacks(i, 13);
	while (used() - began < 0.1)
		;
	/* Four times as much as the program itself. */
	for (double until = used() + 0.4; used() < until;)
		if (cprof_dump_mode(CPROF_HEAP, "/dev/null"))
			return 2;
	return 0;
}
END
$CC -O1 -w -I"$srcdir/include" -o "$work/dumps" "$work/dumps.c" "$CP_LIBRARY" -Wl,-rpath,"${CP_LIBRARY%/*}" || fail "not built"
for engine in timer perf; do
	CPUPROFILE="$work/$engine.pb" CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=1000 HEAPPROFILE="$work/$engine.heap.pb" \
		CPROF_HEAP_INTERVAL=1 ends_well bare $engine "$work/dumps"
	"$pprof_check" --comments "$work/$engine.pb" >"$work/$engine.said"
	program=$(program_ms "$work/$engine.said")
	sampled=$(sed -n 's/^cpu time: .* \([0-9]*\)\.\([0-9]*\) s in samples.*/\1\2/p' "$work/$engine.said")
	own=$(collector_ms "$work/$engine.said")
	echo "dumps, engine $engine: $program ms used by the program, $sampled sampled, $own the profiler's"
	[ "$own" -gt $((10#$program)) ] || fail "dumps, engine $engine: too little work to see it"
	[ $((10#$sampled)) -le $((10#$program * 12 / 10 + 10)) ] || fail "dumps, engine $engine: the profiler's work was sampled"
done

# Nor are its events.
EVENTPROFILE="$work/faults.pb" CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1 HEAPPROFILE="$work/faults.heap.pb" \
	CPROF_HEAP_INTERVAL=1 ends_well bare faults "$work/dumps"
if "$pprof_check" --comments "$work/faults.pb" | grep -q 'is not possible'; then
	echo "dumps, events: not possible here"
else
	faults=$("$pprof_check" --total "$work/faults.pb" | sed -n 's/^minor-faults count //p')
	echo "dumps, events: $faults page faults"
	[ "$faults" -ge 1 ] && [ "$faults" -le 2000 ] || fail "dumps, events: $faults page faults"
fi

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
