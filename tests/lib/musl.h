/* SPDX-License-Identifier: BSD-3-Clause */
/* What musl's headers lack, for the programs of the tests that musl-gcc compiles (make musl-check).
 * A test of one of these functions itself then shows nothing. */
#ifndef TESTS_MUSL_H
#define TESTS_MUSL_H

#include <linux/stat.h>
#include <sys/uio.h>

#define M_MMAP_THRESHOLD 0
#define M_ARENA_MAX 0
#define mallopt(...) 1
#define gsignal raise
#define statx(...) ((int)syscall(SYS_statx, __VA_ARGS__))
#define tgkill(...) ((int)syscall(SYS_tgkill, __VA_ARGS__))
#define preadv2(fd, parts, n, at, flags)                                                           \
	((int)syscall(SYS_preadv2, fd, parts, n, (long)(at), 0L, flags))

static inline void (*sysv_signal(int sig, void (*handler)(int)))(int)
{
	struct sigaction act, old;

	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	act.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
	return sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

#define sigblock(mask) musl_mask(SIG_BLOCK, mask)
#define sigsetmask(mask) musl_mask(SIG_SETMASK, mask)

static inline int musl_mask(int how, int mask)
{
	const uint64_t bits = (unsigned)mask;
	sigset_t set, old;
	int was;

	sigemptyset(&set);
	memcpy(&set, &bits, sizeof(bits));
	if (sigprocmask(how, &set, &old))
		return -1;
	memcpy(&was, &old, sizeof(was));
	return was;
}

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

/* To the calling thread. */
static inline int pthread_sigqueue(pthread_t self, int sig, union sigval value)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_code = SI_QUEUE;
	si.si_pid = getpid();
	si.si_uid = getuid();
	si.si_value = value;
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), sig, &si) ? errno : 0;
}

#endif
