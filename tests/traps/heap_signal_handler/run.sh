# SPDX-License-Identifier: BSD-3-Clause
# Trap: the profiler is interrupted, in the middle of a sample, by a handler that allocates, too.
. "$srcdir/tests/lib/heap.sh"

limit=$bounded
for interval in 1 4K 512K; do
	CPROF_HEAP_INTERVAL=$interval CPUPROFILE="$work/cpu.pb" CPUPROFILE_FREQUENCY=1000 \
		heap_profiled handler ./tests/traps/hosts/heap-odd handler
	check_ended handler 0
	check_heap "$work/handler.pb"
	read -r objects _ live _ <<<"$(heap_values "$work/handler.pb" 'handler|on_alarm')"
	[ "$live" = 0 ] || fail "interval $interval: $live objects in use"
done

# Where the allocator has no lock, a handler may come in the midst of the sample itself: both stacks are right.
cat >"$work/both.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#define SITE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
static volatile sig_atomic_t handled, all;
static void *volatile kept;
SITE static void site_handler(void)
{
	void *p = malloc(48);
	kept = p;
	free(p);
}
static void on_alarm(int sig)
{
	if (all)
		return;
	site_handler();
	handled++;
}
SITE static int site_main(int depth)
{
	void *p;
	if (depth)
		return site_main(depth - 1) + 1;
	p = malloc(64);
	kept = p;
	free(p);
	return 0;
}
int main(void)
{
	struct itimerval often = { { 0, 150 }, { 0, 150 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	int n;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (n = 0; n < 150000 && handled < 1000; n++)
		site_main(n % 40);
	all = 1;
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %d %d %d\n", n, n * 64, handled, handled * 48);
	return 0;
}
END
$CC -O1 -w -shared -fPIC -fno-builtin -o "$work/lockless.so" "$srcdir/tests/traps/hosts/lockless.c" &&
	$CC -O1 -g -w -fno-builtin -o "$work/both" "$work/both.c" || fail "not built"
ALLOCATOR=$work/lockless.so CPROF_HEAP_INTERVAL=1 runs_well heap_profiled both "$work/both"
check_heap "$work/both.pb"
read -r mains main_bytes handlers handler_bytes <"$work/both.out"
got=$(heap_values "$work/both.pb" '^site_main;.*main;')
[ "$got" = "$mains $main_bytes 0 0" ] || fail "main: $got, not $mains $main_bytes 0 0"
got=$(heap_values "$work/both.pb" '^site_handler;on_alarm;')
[ "$got" = "$handlers $handler_bytes 0 0" ] || fail "handler: $got, not $handlers $handler_bytes 0 0"
[ "$handlers" -gt 100 ] || fail "the handler came $handlers times"
finish
