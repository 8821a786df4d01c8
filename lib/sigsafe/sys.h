/* The one seam to the kernel: raw system calls.
 *
 * Called from every plane, also from handlers and from inside malloc. Each
 * returns what the kernel returns: >= 0, or a negative errno. errno and TLS are
 * never touched, so the interrupted code cannot notice a call.
 */
#ifndef CP_SYS_H
#define CP_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "sigsafe/arch.h"

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

/* Anonymous private pages, zeroed. NULL when the kernel has none. */
static inline void *cp_sys_map(size_t size)
{
	long r = cp_syscall6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return r < 0 && r > -4096 ? NULL : (void *)r;
}

/* Whoever maps memory waits for others' unmapping, which takes as long as there are pages. So as
 * much at once as a huge page has, which is better not split. */
#define CP_UNMAP_PIECE ((size_t)2 << 20)

static inline void cp_sys_unmap(void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p, end = at + size, next;

	for (; p && at < end; at = next) {
		next = (at | (CP_UNMAP_PIECE - 1)) + 1;
		next = next < end ? next : end;
		cp_sys2(SYS_munmap, at, next - at);
	}
}

static inline int cp_sys_close(int fd)
{
	return (int)cp_sys1(SYS_close, fd);
}

/* Ours are put where the program's next open doesn't look, at once: it may count on the lowest
 * number (close(0), then open) while another thread writes a profile. */
#define CP_FD_FLOOR 500

static inline int cp_sys_open(const char *path, int flags, int mode)
{
	int fd = (int)cp_sys4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
	int high;

	if (fd < 0 || fd >= CP_FD_FLOOR)
		return fd;
	high = (int)cp_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, CP_FD_FLOOR);
	if (high < 0)
		return fd; /* few are allowed here */
	cp_sys_close(fd);
	return high;
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

/* The kernel's clock id of a thread's CPU time: ~tid, "per thread", "scheduler". */
#define CP_THREAD_CLOCK(tid) ((int)((~(unsigned)(tid) << 3) | 6u))

/* What CLOCK says, ns; 0 when there is none such: its thread has ended. */
static inline uint64_t cp_sys_clock_ns(int clock)
{
	struct timespec t = { 0 };

	cp_sys2(SYS_clock_gettime, clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Copy what there is of N bytes at ADDR of this process, up to the first page that isn't, without
 * faulting: how many, or a negative errno; -EFAULT: there are none. Some sandboxes deny it (-EPERM,
 * -ENOSYS). By the caller's own id: when main has ended, its id, the process's, stands for no
 * memory any more. */
static inline long cp_sys_peek_some(void *to, uint64_t addr, size_t n)
{
	struct iovec l = { to, n }, r = { (void *)(uintptr_t)addr, n };

	return cp_syscall6(SYS_process_vm_readv, cp_sys_gettid(), (long)&l, 1, (long)&r, 1, 0);
}

/* All of them: N, or a negative errno. */
static inline long cp_sys_peek(void *to, uint64_t addr, size_t n)
{
	long got = cp_sys_peek_some(to, addr, n);

	return got < 0 ? got : got == (long)n ? got : -14 /* EFAULT */;
}

/* What is done for a signal, as the kernel has it on all that we run on; libc's struct is another.
 */
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

/* Replace the calling thread's mask; *OLD may be NULL. */
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

/* The calling task, if a real-time thread made it, gets what it would have of an ordinary one: no
 * work of ours goes before the program's. Never refused. */
static inline void cp_sys_leave_realtime(void)
{
	const struct sched_param ordinary = { .sched_priority = 0 };
	long policy = cp_sys1(SYS_sched_getscheduler, 0);

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		cp_sys3(SYS_sched_setscheduler, 0, SCHED_OTHER, &ordinary);
}

#endif
