/* SPDX-License-Identifier: BSD-3-Clause */
/* musl 1.2: see libc.h. All functions are for any context. The layouts are not part of musl's ABI,
 * but have been the same since 1.1. */
#ifndef CP_LIBC_MUSL_H
#define CP_LIBC_MUSL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/stat.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/atomic.h"

/* musl's headers make these names macros, but programs may have been linked with the functions. */
#undef creat64
#undef dirent64
#undef fopen64
#undef freopen64
#undef fstat64
#undef fstatat64
#undef getdents64
#undef lstat64
#undef mmap64
#undef open64
#undef openat64
#undef pread64
#undef preadv64
#undef pwrite64
#undef pwritev64
#undef readdir64
#undef sendfile64
#undef stat64
struct dirent64;
struct stat64 {
	struct stat same;
};

#define CP_LIBC_NAME "musl"
#define CP_LIBC_SYMBOL "_dl_debug_addr"
#define CP_LIBC_ADDRESS ((const void *)&_dl_debug_addr)
/* calloc calls malloc; posix_memalign, memalign and valloc call aligned_alloc. */
#define CP_LIBC_NESTS true
#define CP_LIBC_SELF 0
#define CP_LIBC_COPIED_FIRST 5 /* the stack protector's secret */
#define CP_LIBC_COPIED_LAST 5
#define CP_LIBC_MARK_THREADS(tp) ((void)0)
#define CP_LIBC_LISTS_THREADS false /* from the first robust lock that processes share */
#define CP_LIBC_DEEPBIND 0
#define CP_LIBC_DLOPEN_IS_HOOKED true /* hooks/dlopen_musl.c */
/* From musl 1.2.4 on, the loader alone knows the names with "64". */
#define CP_LIBC_64_IS_PLAIN true

typedef int cp_libc_ptrace_request;
typedef unsigned cp_libc_mmsg_flags;
#define CP_LIBC_SIGEV_TID sigev_notify_thread_id
#define SA_INTERRUPT 0x20000000
#define SHT_X86_64_UNWIND 0x70000001

/* There are no versions of functions. */
#define CP_LIBC_SYMVER(function, version)
#define CP_LIBC_PTHREAD_KILL __asm__("pthread_kill")
#define CP_LIBC_SIGNAL_IS_BSD false
#define CP_LIBC_WAITS_AGAIN true
#define CP_LIBC_READS_MASKS false /* only the kernel reads a set: EFAULT, not a fault */
#define CP_LIBC_SIGWAIT_ERROR (-1)
#define CP_LIBC_TKILL_IS_USER false
/* The system call, as a point where the thread can be cancelled. */
#define CP_LIBC_SIGTIMEDWAIT(set, si, timeout)                                                     \
	({                                                                                         \
		int type_;                                                                         \
		long result_;                                                                      \
                                                                                                   \
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type_);                        \
		result_ = cp_sys4(SYS_rt_sigtimedwait, (set), (si), (timeout), sizeof(uint64_t));  \
		pthread_setcanceltype(type_, NULL);                                                \
		if (result_ < 0)                                                                   \
			errno = (int)-result_;                                                     \
		result_ < 0 ? -1 : (int)result_;                                                   \
	})

extern struct r_debug *_dl_debug_addr;
#define _r_debug (*_dl_debug_addr)

/* Newer than each glibc that brought a function: what musl lacks is not exported
 * (preload/musl.map). */
static inline const char *cp_libc_version(void)
{
	return "2.99";
}

/* What getauxval would say if the kernel had started the program, also where the program is run by
 * the loader (ld-musl-x86_64.so.1 PROGRAM): then the kernel's values are the loader's, and the
 * entry point isn't known. The program is the list's first module. */
static inline unsigned long cp_libc_auxval(unsigned long type)
{
	const struct {
		struct link_map map;
		const ElfW(Phdr) * headers;
	} *program = (const void *)_r_debug.r_map;

	if (getauxval(AT_PHDR) == (uintptr_t)program->headers)
		return getauxval(type);
	return type == AT_PHDR	   ? (uintptr_t)program->headers
	       : type == AT_EXECFN ? (uintptr_t)program->map.l_name
	       : type == AT_ENTRY  ? 0
				   : getauxval(type);
}

/* The program's name is argv[0]. */
static inline bool cp_libc_is_program(const struct dl_phdr_info *info)
{
	return (uintptr_t)info->dlpi_phdr == cp_libc_auxval(AT_PHDR);
}

/* The kernel puts these bytes above the arguments, which are above main's frame. */
static inline uint64_t cp_libc_stack_end(void)
{
	return getauxval(AT_RANDOM);
}

/* Returns the error with which sigaltstack refuses a stack that the kernel might take; 0 = none. */
static inline int cp_libc_refuses_altstack(const stack_t *ss)
{
	if (ss && !(ss->ss_flags & SS_DISABLE) && ss->ss_size < MINSIGSTKSZ)
		return ENOMEM;
	return ss && ss->ss_flags & SS_ONSTACK ? EINVAL : 0;
}

/* A thread may have 2 KiB of stack: less than a signal's frame. */
static inline const pthread_attr_t *cp_libc_roomy(const pthread_attr_t *attr, pthread_attr_t *own)
{
	size_t size, all;
	void *stack;

	if (!attr || !pthread_attr_getstack(attr, &stack, &all) ||
	    pthread_attr_getstacksize(attr, &size) || size >= 16384)
		return attr;
	*own = *attr;
	pthread_attr_setstacksize(own, 16384);
	return own;
}

/* The table of the modules' TLS, which dl_iterate_phdr reads: zeros beyond the descriptor, which
 * has 200 bytes. There is room for 896 modules. */
static inline const void *cp_libc_no_tls(const char *descriptor)
{
	return descriptor + 1024;
}

/* musl has no getcontext. */
#define CP_LIBC_CONTEXT(uc)                                                                        \
	({                                                                                         \
		struct cp_regs regs_ = { 0 };                                                      \
                                                                                                   \
		cp_regs_here(&regs_);                                                              \
		memset((uc), 0, sizeof(*(uc)));                                                    \
		cp_regs_to_context((uc), &regs_);                                                  \
		true;                                                                              \
	})

/* Mutexes: words 0 to 2 are the kind, the lock, and the number of waiters; word 5 counts the locks
 * of a recursive one. The lock is 0, EBUSY in a plain mutex, or the owner's tid. */
#define CP_MUTEX_TYPE 3
#define CP_MUTEX_RECURSIVE 1
#define CP_MUTEX_ROBUST 4
#define CP_MUTEX_INHERITS 8
#define CP_MUTEX_WAITERS 0x80000000u
#define CP_MUTEX_TID 0x3fffffffu

static inline const int *cp_mutex_kind(const pthread_mutex_t *m)
{
	return &m->__u.__i[0];
}

static inline unsigned cp_mutex_word(const pthread_mutex_t *m)
{
	return (unsigned)cp_load_relaxed(&m->__u.__i[1]);
}

static inline bool cp_mutex_is_locked(const pthread_mutex_t *m)
{
	return cp_mutex_word(m) != 0;
}

static inline int cp_mutex_owner(const pthread_mutex_t *m)
{
	/* The low four bits are 0 in a plain mutex, which doesn't know its owner. */
	return cp_load_relaxed(cp_mutex_kind(m)) & 15 ? (int)(cp_mutex_word(m) & CP_MUTEX_TID) : 0;
}

static inline int cp_mutex_copy_owner(const pthread_mutex_t *m)
{
	return cp_mutex_owner(m);
}

static inline bool cp_mutex_is_plain(const pthread_mutex_t *m, unsigned word)
{
	return !(word & CP_MUTEX_WAITERS) && !cp_load_relaxed(&m->__u.__i[2]);
}

static inline bool cp_mutex_is_waited_for(const pthread_mutex_t *m)
{
	bool again = (cp_load_relaxed(cp_mutex_kind(m)) & CP_MUTEX_TYPE) == CP_MUTEX_RECURSIVE &&
		     m->__u.__i[5] > 0;

	return !again && !cp_mutex_is_plain(m, cp_mutex_word(m));
}

static inline bool cp_mutex_is_tried(int kind)
{
	return !(kind & (CP_MUTEX_ROBUST | CP_MUTEX_INHERITS));
}

/* The mutex looks the same after a sleep. */
static inline bool cp_mutex_was_got_at_once(const pthread_mutex_t *m)
{
	return false;
}

/* Read-write locks: words 0 and 1 are the lock and the number of waiters. The lock is the number of
 * readers, or this number if a writer has it; the highest bit says that threads wait. */
#define CP_RWLOCK_WRITER 0x7fffffffu

static inline const int *cp_rwlock_first(const pthread_rwlock_t *l)
{
	return &l->__u.__i[0];
}

static inline unsigned cp_rwlock_word(const pthread_rwlock_t *l)
{
	return (unsigned)cp_load_relaxed(&l->__u.__i[0]);
}

static inline bool cp_rwlock_may_keep_reader(unsigned r)
{
	return (r & CP_RWLOCK_WRITER) == CP_RWLOCK_WRITER;
}

static inline bool cp_rwlock_may_keep_writer(unsigned r)
{
	return r != 0;
}

static inline bool cp_rwlock_keeps_reader(const pthread_rwlock_t *l, unsigned r)
{
	return cp_rwlock_may_keep_reader(r);
}

static inline bool cp_rwlock_keeps_writer(unsigned r)
{
	return r != 0;
}

static inline bool cp_rwlock_is_waited_for(const pthread_rwlock_t *l, unsigned r)
{
	return (r & ~CP_RWLOCK_WRITER) || cp_load_relaxed(&l->__u.__i[1]);
}

static inline bool cp_rwlock_is_shared(unsigned r)
{
	return (r & CP_RWLOCK_WRITER) > 1 && (r & CP_RWLOCK_WRITER) != CP_RWLOCK_WRITER;
}

static inline bool cp_rwlock_has_at_most(unsigned r, unsigned n)
{
	return (r & CP_RWLOCK_WRITER) <= n;
}

static inline bool cp_rwlock_awaits_readers(const pthread_rwlock_t *l, unsigned r)
{
	return cp_rwlock_is_waited_for(l, r);
}

static inline int cp_rwlock_copy_owner(const pthread_rwlock_t *l, unsigned *readers)
{
	unsigned n = cp_rwlock_word(l) & CP_RWLOCK_WRITER;

	*readers = n == CP_RWLOCK_WRITER ? 0 : n;
	return 0;
}

/* The value; the highest bit says that threads wait. Before 1.2.4 it is -1 instead. */
static inline bool cp_sem_is_available(const sem_t *s)
{
	uint32_t value = cp_load_relaxed((const uint32_t *)(const void *)s);

	return value != UINT32_MAX && (value & INT32_MAX);
}

/* The result names the first thread that came, not the last. */
static inline bool cp_barrier_has_waited(int result)
{
	return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD;
}

#endif
