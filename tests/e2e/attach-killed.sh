# SPDX-License-Identifier: BSD-3-Clause
# The tool is killed before each of its steps: the process goes on, undisturbed, and can be attached to afterwards.
. "$srcdir/tests/lib/attach.sh"

# A step is a call by which the tool changes, or stops, something of the process.
cat >"$work/kill.c" <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long step(long number, long a, long b, long c, long d, long e, long f)
{
	static int left = -1;

	if (left < 0)
		left = atoi(getenv("KILLED_AT"));
	if (!--left)
		kill(getpid(), SIGKILL);
	return syscall(number, a, b, c, d, e, f);
}

long ptrace(int request, ...)
{
	va_list args;
	long a[3];

	va_start(args, request);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return step(SYS_ptrace, request, a[0], a[1], a[2], 0, 0);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *l, unsigned long n, const struct iovec *r, unsigned long m,
			  unsigned long flags)
{
	return step(SYS_process_vm_writev, pid, (long)l, (long)n, (long)r, (long)m, (long)flags);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
	return step(SYS_pwrite64, fd, (long)data, (long)n, at, 0, 0);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
	return pwrite64(fd, data, n, at);
}
END
$CC -O1 -shared -fPIC -o "$work/kill.so" "$work/kill.c" || fail "kill.c doesn't compile"

attaches() {
	timeout 60 "$cprof" attach "$work_pid" >"$work/again.said" 2>&1
}

# Kills the tool before step N of an attach to attach-host WHAT. Returns whether there was one.
killed_at() { # what n
	unaware "$1.$2" "$1"
	status=0
	{ env LD_PRELOAD="$work/kill.so" KILLED_AT="$2" timeout 60 "$cprof" attach "$work_pid" >"$work/said" 2>&1; } 2>/dev/null || status=$?
	[ $status = 0 ] || [ $status = 137 ] || fail "$2: status $status: $(cat "$work/said")"
	local killed=$((status == 137))
	# A thread of the first attach may be at work yet.
	wait_for 60 attaches || fail "step $2: not attached afterwards: $(cat "$work/again.said")"
	ended_well "$1.$2"
	grep -q '^undisturbed' "$work/$1.$2.out" || harm "step $2: $(cat "$work/$1.$2.out")"
	[ $killed = 1 ]
}

n=1
while killed_at wait $n; do
	n=$((n + 1))
done
echo "$((n - 1)) steps"
[ $n -gt 10 ] || fail "only $((n - 1)) steps"
finish
