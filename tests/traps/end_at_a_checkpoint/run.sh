# SPDX-License-Identifier: BSD-3-Clause
# Trap: the process ends, or becomes another one, while our thread writes a file, and half of one is left. The disk is
# slow here (each rename takes longer than the time between two checkpoints), so that one is due whenever a file is done.
. "$srcdir/tests/lib/e2e.sh"
need strace
strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"

cat >"$work/host.c" <<'END'
#include "tick.h"
static volatile int ticked;
/* Behind ours: what was registered first comes last. */
static void linger(void)
{
	usleep(400000);
}
static void *work(void *asks)
{
	struct host_tick tick = {};
	for (volatile unsigned sum = 0;; sum++) {
		if (asks && sum % 10000000 == 0)
			pthread_kill(pthread_self(), SIGUSR2);
		if (!ticked && sum % 10000000 == 0)
			ticked = host_ticked(&tick);
	}
	return asks;
}
int main(int argc, char **argv)
{
	pthread_t t;
	atexit(linger);
	/* While handlers of the program's run, who asks for a dump gets one, if need be half of it. */
	if (pthread_create(&t, NULL, work, strcmp(argv[1], "return") ? argv : NULL))
		return 2;
	do
		usleep(400000);
	while (!ticked);
	if (!strcmp(argv[1], "_exit"))
		_exit(0);
	if (!strcmp(argv[1], "signal"))
		kill(getpid(), SIGTERM);
	/* Bare, this ends it at once. */
	if (!strcmp(argv[1], "other")) {
		sigset_t term;
		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		kill(getpid(), SIGTERM);
	}
	if (!strcmp(argv[1], "exec"))
		execl("/bin/sleep", "sleep", "0.1", (char *)0);
	return 0;
}
END
$CC -O1 -D_GNU_SOURCE -I"$srcdir/tests/lib" -o "$work/host" "$work/host.c" -pthread || fail "not built"
# The end is slow too, from the last write on. A signal to the process may come to any thread, and main goes on to its
# end; the process ends by the signal, as without us.
ends=execve,exit_group
for way in return _exit signal other exec; do
	[ $way = other ] && again=1500ms || again=300ms
	bare "$way" strace -f -o "$work/trace" -e trace=renameat,rt_tgsigqueueinfo,$ends -e inject=renameat:delay_enter=450ms \
		-e inject=$ends:delay_enter=300ms -e inject=rt_tgsigqueueinfo:delay_enter=$again -E CPROF_CHECKPOINT=10ms -E CPUPROFILE_FREQUENCY=1000 \
		-E CPUPROFILE="$work/$way.pb" -E LD_PRELOAD="$CP_LIBRARY" "$work/host" "$way"
	case $way in signal | other) expected=143 ;; *) expected=0 ;; esac
	check_status "$way" $expected
	[ -z "$(find "$work" -name ".$way*.tmp")" ] || fail "$way: a half-written file is left"
	check_valid "$work/$way.pb"
	# Nor is one begun that the end would have to wait for: the last file is that of the thread that ends.
	[ $way != return ] || awk '$2 ~ /^renameat/ { last = $1 } $2 ~ /^exit_group/ { end = $1 } END { exit last != end }' "$work/trace" ||
		fail "return: our thread begins a file behind the last one"
	# The program that came by exec has the path, if it had a sample.
	[ $way = exec ] || check_stack "$work/$way.pb" work
done
finish
