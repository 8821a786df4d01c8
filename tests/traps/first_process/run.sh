# SPDX-License-Identifier: BSD-3-Clause
# Trap: the first process of a pid namespace, a container's, lives through signals that it has no handler for: a call is not
# even interrupted. A profiler that has one for it ends the profile there, and the call.
. "$srcdir/tests/lib/e2e.sh"
need unshare
unshare -pf true 2>/dev/null || skip "no pid namespace can be made here"

cat >"$work/host.c" <<'END'
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include "host.h"
__attribute__((noinline, noclone)) static void before(void)
{
	burn_and_tick(0.25);
	__asm__ volatile("");
}
__attribute__((noinline, noclone)) static void after(void)
{
	burn_and_tick(0.25);
	__asm__ volatile("");
}
static int first(void)
{
	const int signals[] = { SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGQUIT, SIGABRT, SIGALRM, SIGRTMIN + 3 };
	unsigned n = sizeof(signals) / sizeof(*signals);
	pid_t child;
	int wrong = 0;
	before();
	for (unsigned i = 0; i < n; i++) {
		child = fork();
		if (!child) {
			usleep(30000);
			_exit(kill(1, signals[i]) != 0);
		}
		/* The child's end is no signal with a handler. */
		if (poll(NULL, 0, 100) != 0) {
			printf("poll: %s, by signal %d\n", strerror(errno), signals[i]);
			wrong = 1;
		}
		waitpid(child, NULL, 0);
	}
	after();
	return wrong;
}
int main(int argc, char **argv)
{
	int status;
	if (argc < 2)
		return first();
	/* One that was made by a program which has left its namespace; with its handlers. */
	if (unshare(0x20000000 /* CLONE_NEWPID */))
		return 3;
	if (fork() == 0)
		exit(first());
	wait(&status);
	return WEXITSTATUS(status);
}
END
$CC -O1 -w -D_GNU_SOURCE -I"$srcdir/tests/lib" -o "$work/host" "$work/host.c" || fail "not built"
ends_well bare bare unshare -pf "$work/host"
bare execed unshare -pf env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/execed.pb" "$work/host"
check_ended_valid execed 0 bare
check_stack "$work/execed.pb" before
check_stack "$work/execed.pb" after
profiled forked "$work/host" fork
check_ended forked 0 bare
check_stack "$work/forked.pb.1" before
check_stack "$work/forked.pb.1" after

# A signal that it sends itself changes nothing either; its own faults end it as always, and if the fault happens
# again when a handler returns, there is a profile. musl's abort blocks SIGSEGV before it faults, so no handler can
# write one.
cat >"$work/alone.c" <<'END'
#include "host.h"
__attribute__((noinline, noclone)) static void work(void)
{
	burn_and_tick(0.1);
	__asm__ volatile("");
}
__attribute__((noinline, noclone)) static void send(void)
{
	const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGTERM, SIGPROF };
	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		kill(getpid(), signals[i]);
		raise(signals[i]);
		sigqueue(getpid(), signals[i], (union sigval){ 0 });
	}
	work();
	puts("alive");
	exit(4);
}
int main(int argc, char **argv)
{
	work();
	if (!strcmp(argv[1], "send"))
		send();
	else if (!strcmp(argv[1], "abort"))
		abort();
	else if (!strcmp(argv[1], "segv"))
		*(volatile int *)8 = 1;
#ifdef __x86_64__
	else if (!strcmp(argv[1], "breakpoint"))
		__asm__ volatile("int3");
#elif defined(__aarch64__)
	else if (!strcmp(argv[1], "breakpoint"))
		__asm__ volatile("brk #0");
#endif
	puts("went on");
	return 3;
}
END
$CC -O1 -w -D_GNU_SOURCE -I"$srcdir/tests/lib" -o "$work/alone" "$work/alone.c" || fail "not built"
ulimit -c 0
for way in send abort segv breakpoint; do
	bare "$way-bare" unshare -pf "$work/alone" $way
	expected=$status
	bare "$way" unshare -pf env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/$way.pb" "$work/alone" $way
	check_status "$way" "$expected"
	check_same_output "$way" "$way-bare"
	[ "$way-$(uname -m)" = breakpoint-x86_64 ] || [[ $way == abort && $CC == musl-gcc* ]] ||
		check_stack "$work/$way.pb" 'work;.*main'
	check_quiet "$way"
done
check_stack "$work/send.pb" 'work;send;.*main'
finish
