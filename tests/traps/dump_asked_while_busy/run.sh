# SPDX-License-Identifier: BSD-3-Clause
# Trap: a signal asks for a dump while a thread is busy with another one, and the request is forgotten. In a program
# that may not have a thread of the profiler, the handler itself would write the dump: it can't, but the busy thread
# can, afterwards.
. "$srcdir/tests/lib/e2e.sh"

# libc makes threads by clone3; by clone none is made, in all that it starts.
cat >"$work/no-clone.c" <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef CLONE_THREAD
#define CLONE_THREAD 0x10000
#endif
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(*f), f };
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		return 77;
	return execvp(argv[1], argv + 1), 127;
}
END
cat >"$work/no-collector.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
/* The program's own threads have no attributes. */
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
	return a ? EAGAIN : real(t, a, f, arg);
}
END
cat >"$work/host.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#pragma weak cprof_dump
int cprof_dump(const char *path);
static int done;
static void *dump(void *path)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		cprof_dump(path);
	return path;
}
int main(int argc, char **argv)
{
	pthread_t t;
	if (!cprof_dump || pthread_create(&t, NULL, dump, "others.pb"))
		return 2;
	for (int i = 1; i <= 50; i++) {
		char name[64];
		snprintf(name, sizeof(name), "asked.%04d.pb", i);
		raise(SIGUSR2);
		/* At most 20 s. */
		for (int n = 0; access(name, F_OK); n++) {
			if (n == 20000)
				return printf("%s was never written\n", name), 1;
			usleep(1000);
		}
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	return 0;
}
END
$CC -shared -fPIC -o "$work/no-collector.so" "$work/no-collector.c" &&
	$CC -o "$work/no-clone" "$work/no-clone.c" &&
	$CC -o "$work/host" "$work/host.c" -pthread || fail "not built"
cd "$work" || exit
./no-clone true
[ $? = 77 ] && skip "no filters of system calls here"
ends_well bare asked ./no-clone env LD_PRELOAD="$CP_LIBRARY $work/no-collector.so" CPUPROFILE=asked.pb ./host
[ ! -s asked.out ] || fail "$(cat asked.out)"
check_valid asked.0050.pb
check_comment asked.0050.pb 'note: no collector thread'
finish
