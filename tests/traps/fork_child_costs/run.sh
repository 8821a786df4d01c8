# SPDX-License-Identifier: BSD-3-Clause
# A fork while the collector works: the child's profile counts only the child's threads and the child's cost. The CPU
# time that the parent's collector had used was once subtracted from the child's.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
cat >"$work/host.c" <<'END'
#include "host.h"

/* Gives the collector work: new stacks all the time. */
static void *allocate(void *arg)
{
	for (unsigned i = 0;; i++)
		free(malloc(100 + (i & 1023)));
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
	for (int i = 0; i < 10; i++) {
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
$CC -O1 -D_GNU_SOURCE -I"$srcdir/tests/lib" -o "$work/host" "$work/host.c" -lpthread || exit 1
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
[ $children = 10 ] || fail "$children children have a profile"
finish
