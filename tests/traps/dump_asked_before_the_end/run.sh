# SPDX-License-Identifier: BSD-3-Clause
# Trap: a dump is asked for, and the process ends before our thread comes to it, or while it writes: the dump is lost
# without a word, or half of it is left; likewise a toggle, and with it the window between two of them. The disk is
# slow here, so that our thread is still at a checkpoint.
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
static int toggle;
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
	toggle = argc > 2;
	if (toggle)
		raise(SIGUSR1);
	atexit(last);
	pthread_create(&t, NULL, work, NULL);
	usleep(300000);
	if (strcmp(way, "atexit"))
		raise(SIGUSR2);
	if (toggle) {
		raise(SIGUSR1);
		raise(SIGUSR1);
	}
	if (!strcmp(way, "_exit"))
		_exit(0);
	if (!strcmp(way, "signal"))
		kill(getpid(), SIGTERM);
	return 0;
}
END
$CC -O1 -o "$work/host" "$work/host.c" -pthread || fail "not built"

ends() { # name way [environment for the toggle]
	name=$1 way=$2
	shift 2
	bare "$name" strace -f -o /dev/null -e trace=/rename -e inject=/rename:delay_enter=300ms -E CPROF_CHECKPOINT=100ms \
		${1:+-E "$1"} -E CPUPROFILE="$work/$name.pb" -E LD_PRELOAD="$CP_LIBRARY" "$work/host" "$way" ${1:+toggle}
	[ "$way" = signal ] && expected=143 || expected=0
	check_status "$name" $expected
	[ -z "$(find "$work" -name ".$name*.tmp")" ] || fail "$name: a half-written file is left"
}

for way in return _exit signal atexit; do
	ends "$way" "$way"
	[ -e "$work/$way.0001.pb" ] || fail "$way: the dump that was asked for is not there"
	check_valid "$work/$way.pb" "$work/$way.0001.pb"
done
# On, and when our thread is busy off and on again: two windows.
for way in return _exit signal; do
	ends "toggle-$way" "$way" CPUPROFILESIGNAL=USR1
	[ -e "$work/toggle-$way.pb.1" ] || fail "toggle-$way: the toggles before the end were dropped"
	check_valid "$work/toggle-$way.pb.0" "$work/toggle-$way.pb.1"
done
finish
