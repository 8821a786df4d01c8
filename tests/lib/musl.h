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
#define pvalloc(size) valloc(size)
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP                                                     \
	{                                                                                          \
		{                                                                                  \
			{                                                                          \
				PTHREAD_MUTEX_RECURSIVE                                            \
			}                                                                          \
		}                                                                                  \
	}
#define PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP                                                    \
	{                                                                                          \
		{                                                                                  \
			{                                                                          \
				PTHREAD_MUTEX_ERRORCHECK                                           \
			}                                                                          \
		}                                                                                  \
	}
#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_ADAPTIVE_NP PTHREAD_MUTEX_NORMAL
#define PTHREAD_RWLOCK_PREFER_READER_NP 0
#define PTHREAD_RWLOCK_PREFER_WRITER_NP 1
#define PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP 2
#define pthread_rwlockattr_setkind_np(...) 0
#define getcontext(context) (-1)
#define setcontext(context) (-1)
#define swapcontext(from, to) (-1)
#define makecontext(...) ((void)0)
#define gsignal raise
#define statx(...) ((int)syscall(SYS_statx, __VA_ARGS__))
#define pwritev2(fd, parts, n, at, flags)                                                          \
	((int)syscall(SYS_pwritev2, fd, parts, n, (long)(at), 0L, flags))
#define renameat2(...) ((int)syscall(SYS_renameat2, __VA_ARGS__))
#define execveat(...) ((int)syscall(SYS_execveat, __VA_ARGS__))
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

static inline int backtrace(void **frames, int max)
{
	int n = max < 2 ? max : 2;

	memset(frames, 0, (size_t)n * sizeof(*frames));
	return n;
}

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

/* The functions that wait by a clock of the caller's: by the clock of those that musl has. */
static inline const struct timespec *musl_real(clockid_t clock, const struct timespec *until,
					       struct timespec *real)
{
	struct timespec now;
	long ns;

	clock_gettime(clock, &now);
	clock_gettime(CLOCK_REALTIME, real);
	ns = real->tv_nsec + until->tv_nsec - now.tv_nsec + 1000000000;
	real->tv_sec += until->tv_sec - now.tv_sec - 1 + ns / 1000000000;
	real->tv_nsec = ns % 1000000000;
	return real;
}

#define MUSL_REAL(clock, until) musl_real(clock, until, &(struct timespec){ 0 })
#define pthread_mutex_clocklock(m, clock, until) pthread_mutex_timedlock(m, MUSL_REAL(clock, until))
#define pthread_rwlock_clockrdlock(l, clock, until)                                                \
	pthread_rwlock_timedrdlock(l, MUSL_REAL(clock, until))
#define pthread_rwlock_clockwrlock(l, clock, until)                                                \
	pthread_rwlock_timedwrlock(l, MUSL_REAL(clock, until))
#define sem_clockwait(s, clock, until) sem_timedwait(s, MUSL_REAL(clock, until))
#define pthread_clockjoin_np(t, value, clock, until)                                               \
	pthread_timedjoin_np(t, value, MUSL_REAL(clock, until))
#define pthread_cond_clockwait(c, m, clock, until)                                                 \
	pthread_cond_timedwait(c, m, MUSL_REAL(clock, until))

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
