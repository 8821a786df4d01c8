#!/bin/bash
# Trap: a dump is asked for, and the process ends before our thread comes to it, or while it writes: the dump is lost
# without a word, or half of it is left. The disk is slow here, so that our thread is still at a checkpoint.
. "$srcdir/tests/lib/e2e.sh"
need strace
strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"

cat >"$work/host.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char *way;
/* Behind ours: what was registered first comes last. */
static void last(void)
{
	if (!strcmp(way, "atexit")) {
		raise(SIGUSR2);
		usleep(50000);
	}
}
static void *work(void *arg)
{
	for (volatile unsigned sum = 0;;)
		sum++;
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	way = argv[1];
	atexit(last);
	pthread_create(&t, NULL, work, NULL);
	usleep(300000);
	if (strcmp(way, "atexit"))
		raise(SIGUSR2);
	if (!strcmp(way, "_exit"))
		_exit(0);
	if (!strcmp(way, "signal"))
		kill(getpid(), SIGTERM);
	return 0;
}
END
$CC -O1 -o "$work/host" "$work/host.c" -pthread || fail "not built"
for way in return _exit signal atexit; do
	bare "$way" strace -f -o /dev/null -e trace=/rename -e inject=/rename:delay_enter=300ms -E CPROF_CHECKPOINT=100ms \
		-E CPUPROFILE="$work/$way.pb" -E LD_PRELOAD="$CP_LIBRARY" "$work/host" "$way"
	[ $way = signal ] && expected=143 || expected=0
	check_status "$way" $expected
	[ -z "$(find "$work" -name ".$way*.tmp")" ] || fail "$way: a half-written file is left"
	[ -e "$work/$way.0001.pb" ] || fail "$way: the dump that was asked for is not there"
	check_valid "$work/$way.pb" "$work/$way.0001.pb"
done
finish
