/* SPDX-License-Identifier: BSD-3-Clause */
/* The one seam to the kernel: raw system calls.
 *
 * Called from every plane, also from handlers and from inside malloc. Each call returns the
 * kernel's result: >= 0, or a negative errno. No call touches errno or TLS, so the interrupted
 * code cannot notice it.
 */
#ifndef CP_SYS_H
#define CP_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "base/arch.h"

/* Numbers of system calls that are newer than the headers of old systems. From 424 on a call has
 * the same number on every architecture. The kernel is asked at run time; one that lacks a call
 * answers -ENOSYS. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* A kernel signal set: one word, unlike libc's 128 bytes. */
#define CP_SIGBIT(sig) (UINT64_C(1) << ((sig)-1))
#define CP_SIGSET_ALL (~UINT64_C(0))

#define cp_sys0(n) cp_syscall6(n, 0, 0, 0, 0, 0, 0)
#define cp_sys1(n, a) cp_syscall6(n, (long)(a), 0, 0, 0, 0, 0)
#define cp_sys2(n, a, b) cp_syscall6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define cp_sys3(n, a, b, c) cp_syscall6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define cp_sys4(n, a, b, c, d) cp_syscall6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define cp_sys5(n, a, b, c, d, e)                                                                  \
	cp_syscall6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

static inline int cp_sys_gettid(void)
{
	return (int)cp_sys0(SYS_gettid);
}

static inline int cp_sys_getpid(void)
{
	return (int)cp_sys0(SYS_getpid);
}

static inline int cp_sys_getppid(void)
{
	return (int)cp_sys0(SYS_getppid);
}

/* Returns anonymous private pages, zeroed; NULL if the kernel has none and the reserve (base.h)
 * neither. The pages lie far from the program's (see sys.c). Everything that the profiler maps
 * comes from here. */
void *cp_sys_map(size_t size);
/* Returns such pages, never from the reserve, that children will share with this process. */
void *cp_sys_map_shared(size_t size);
/* Returns pages without access rights, never from the reserve. */
void *cp_sys_map_none(size_t size);
/* Does ADDRESS lie where cp_sys_map places its pages? */
bool cp_sys_is_own_part(uintptr_t address);
/* Maps pages of FD, shared. Returns the address, or a negative errno. */
long cp_sys_map_fd(int fd, size_t size);

/* munmap holds the lock of the address space for as long as there are pages to unmap, and other
 * threads' mmap waits. So one call unmaps at most one huge page, and splits none. */
#define CP_UNMAP_PIECE ((size_t)2 << 20)

/* From here on cp_sys_unmap leaves all but large mappings to the end of the process, which is near.
 */
void cp_sys_keep_pages(void);
/* Unmaps SIZE bytes at P, which cp_sys_map or cp_sys_map_fd returned; NULL is nothing. */
void cp_sys_unmap(void *p, size_t size);

static inline int cp_sys_close(int fd)
{
	return (int)cp_sys1(SYS_close, fd);
}

/* The profiler's descriptors move at once above this number, where the program's next open doesn't
 * look. The program may rely on getting the lowest number (close(0), then open) while another
 * thread writes a profile. */
#define CP_FD_FLOOR 500

static inline int cp_sys_move_up(int fd)
{
	int high;

	if (fd < 0 || fd >= CP_FD_FLOOR)
		return fd;
	high = (int)cp_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, CP_FD_FLOOR);
	if (high < 0)
		return fd; /* if the limit on descriptors is low */
	cp_sys_close(fd);
	return high;
}

static inline int cp_sys_open(const char *path, int flags, int mode)
{
	return cp_sys_move_up((int)cp_sys4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

static inline long cp_sys_read(int fd, void *buf, size_t n)
{
	return cp_sys3(SYS_read, fd, buf, n);
}

static inline long cp_sys_pread(int fd, void *buf, size_t n, uint64_t off)
{
	return cp_sys4(SYS_pread64, fd, buf, n, off);
}

static inline long cp_sys_write(int fd, const void *buf, size_t n)
{
	return cp_sys3(SYS_write, fd, buf, n);
}

/* The kernel's clock id of a thread's CPU time: ~tid, the per-thread flag, the scheduler clock. */
#define CP_THREAD_CLOCK(tid) ((int)((~(unsigned)(tid) << 3) | 6u))

/* Returns the time of CLOCK in ns; 0 if the clock's thread has ended. */
static inline uint64_t cp_sys_clock_ns(int clock)
{
	struct timespec t = { 0 };

	cp_sys2(SYS_clock_gettime, clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns whether the process was started with a filter of its system calls, which may kill it for
 * one that most programs don't make, as for a socket. A filter that the program sets itself ends
 * the profile before. */
static inline bool cp_sys_is_filtered(void)
{
	return cp_sys1(SYS_prctl, PR_GET_SECCOMP) != 0;
}

/* Copies up to N bytes at ADDR of this process into TO, without faulting. The copy ends before the
 * first unreadable page. Returns the number of bytes, or a negative errno; -EFAULT if no byte is
 * readable. Some sandboxes deny the call (-EPERM, -ENOSYS). The caller's tid addresses the
 * process, because the pid has no memory any more after main's thread has ended. */
static inline long cp_sys_peek_some(void *to, uint64_t addr, size_t n)
{
	struct iovec l = { to, n }, r = { (void *)(uintptr_t)addr, n };

	return cp_syscall6(SYS_process_vm_readv, cp_sys_gettid(), (long)&l, 1, (long)&r, 1, 0);
}

/* Copies all N bytes. Returns N, or a negative errno. */
static inline long cp_sys_peek(void *to, uint64_t addr, size_t n)
{
	long got = cp_sys_peek_some(to, addr, n);

	return got < 0 ? got : got == (long)n ? got : -14 /* EFAULT */;
}

/* Copies an argument of N bytes that the program passes to the kernel. Returns false if it can't be
 * read: then the kernel is to refuse the call. Where a sandbox denies the copy, it is read
 * directly. */
static inline bool cp_sys_copy_argument(void *to, const void *argument, size_t n)
{
	long got = cp_sys_peek(to, (uint64_t)(uintptr_t)argument, n);

	if (got < 0 && got != -14 /* EFAULT */)
		__builtin_memcpy(to, argument, n);
	return got != -14;
}

/* The kernel's struct for rt_sigaction, the same on all supported architectures. libc's struct
 * differs. */
struct cp_sys_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static inline long cp_sys_sigaction(int sig, const struct cp_sys_sigaction *act,
				    struct cp_sys_sigaction *old)
{
	return cp_sys4(SYS_rt_sigaction, sig, act, old, sizeof(act->mask));
}

/* Changes the calling thread's mask as HOW says; OLD may be NULL. */
static inline void cp_sys_sigmask(int how, const uint64_t *set, uint64_t *old)
{
	cp_sys4(SYS_rt_sigprocmask, how, set, old, sizeof(uint64_t));
}

static inline long cp_sys_futex_wait(uint32_t *word, uint32_t expected,
				     const struct timespec *timeout)
{
	return cp_sys4(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, timeout);
}

static inline long cp_sys_futex_wake(uint32_t *word, int n)
{
	return cp_sys3(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n);
}

static inline void cp_sys_yield(void)
{
	cp_sys0(SYS_sched_yield);
}

/* Returns whether the calling task has a deadline (SCHED_DEADLINE); such a task can't make another
 * one. */
static inline bool cp_sys_has_deadline(void)
{
	return (cp_sys1(SYS_sched_getscheduler, 0) & 0xff) == 6 /* SCHED_DEADLINE */;
}

/* Gives the calling task the ordinary scheduling policy if a real-time thread created it. The
 * profiler's work must not run before the program's. The kernel never refuses this. */
static inline void cp_sys_leave_realtime(void)
{
	const struct sched_param ordinary = { .sched_priority = 0 };
	long policy = cp_sys1(SYS_sched_getscheduler, 0);

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		cp_sys3(SYS_sched_setscheduler, 0, SCHED_OTHER, &ordinary);
}

#endif
