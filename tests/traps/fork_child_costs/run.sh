# SPDX-License-Identifier: BSD-3-Clause
# A fork while the collector works: the child's profile counts only the child's threads and the child's cost. The CPU
# time that the parent's collector had used was once subtracted from the child's.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
cat >"$work/host.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static volatile long sum;

static void burn(double seconds)
{
	for (double end = used() + seconds; used() < end;)
		for (int i = 0; i < 10000; i++)
			sum += i;
}

/* Gives the collector work: new stacks all the time. */
static void *allocate(void *arg)
{
	for (;;)
		free(malloc(100 + (sum & 1023)));
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	for (int i = 0; i < 30; i++)
		if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
			return 1;
	if (pthread_create(&t, NULL, allocate, NULL))
		return 1;
	for (int i = 0; i < 25; i++) {
		int status;
		pid_t child;

		burn(0.003);
		child = fork();
		if (!child) {
			burn(0.06);
			exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			return 1;
	}
	return 0;
}
END
$CC -O1 -D_GNU_SOURCE -o "$work/host" "$work/host.c" -lpthread || exit 1
CPUPROFILE_FREQUENCY=1000 WALLPROFILE=$work/host.wall WALLPROFILE_FREQUENCY=1000 CPROF_CHECKPOINT=10ms runs_well profiled host "$work/host"
children=0
for file in "$work"/host.pb.*; do
	[ -s "$file" ] || continue
	children=$((children + 1))
	"$pprof_check" --comments "$file" >"$work/said"
	grep -q '^threads: 1 given a clock' "$work/said" || fail "a child says: $(grep '^threads' "$work/said")"
	read -r used given <<<"$(sed -n 's/^cpu time: \([0-9.]*\) s used by the program, \([0-9.]*\) s in samples.*/\1 \2/p' "$work/said")"
	awk -v used="$used" -v given="$given" 'BEGIN { exit !(used >= given * 0.8 && used >= 0.05) }' ||
		fail "a child used $used s, and $given s are in its samples: $(grep collector "$work/said")"
done
[ $children -gt 20 ] || fail "$children children have a profile"
finish
