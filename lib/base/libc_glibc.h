/* SPDX-License-Identifier: BSD-3-Clause */
/* glibc: see libc.h. All functions are for any context. */
#ifndef CP_LIBC_GLIBC_H
#define CP_LIBC_GLIBC_H

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <ucontext.h>

#include "base/atomic.h"

#define CP_LIBC_NAME "glibc"
/* A symbol that only libc defines, and its address. */
#define CP_LIBC_SYMBOL "gnu_get_libc_version"
#define CP_LIBC_ADDRESS ((const void *)(uintptr_t)&gnu_get_libc_version)
/* libc's calloc, memalign and the like never call the interposed malloc. */
#define CP_LIBC_NESTS false
/* Which word of a thread's descriptor points to the descriptor itself, besides the first. */
#define CP_LIBC_SELF 2
/* The words of a descriptor that a task copies from the thread that makes it: the secrets of the
 * stack protector and of jump buffers, and whether there is a shadow stack. */
#define CP_LIBC_COPIED_FIRST 5
#define CP_LIBC_COPIED_LAST 9
/* Write into a descriptor that there are several threads. */
#define CP_LIBC_MARK_THREADS(tp) (((uint32_t *)(tp))[6] = 1)
/* Does each thread have a list of robust locks from its start? */
#define CP_LIBC_LISTS_THREADS true
/* For dlopen: the library calls its own functions even if the program has others of the name. */
#define CP_LIBC_DEEPBIND RTLD_DEEPBIND
#define CP_LIBC_DLOPEN_IS_HOOKED false
/* Types of parameters; the member of struct sigevent that names a thread. */
typedef enum __ptrace_request cp_libc_ptrace_request;
typedef int cp_libc_mmsg_flags;
#define CP_LIBC_SIGEV_TID _sigev_un._tid
/* Names of functions without "64" mean the same. */
#define CP_LIBC_64_IS_PLAIN false

/* The version of the first functions on this machine. */
#ifdef __aarch64__
#define CP_LIBC_OLDEST "GLIBC_2.17"
#else
#define CP_LIBC_OLDEST "GLIBC_2.2.5"
#endif
/* For the definition of FUNCTION: it is VERSION of a function of libc. */
#if __has_attribute(symver)
#define CP_LIBC_SYMVER(function, version) __attribute__((symver(version)))
#else
#define CP_LIBC_SYMVER(function, version) __asm__(".symver " #function ", " version);
#endif
#define CP_LIBC_PTHREAD_KILL
/* Does signal() block the signal in its handler by the mask, and heed an earlier siginterrupt? */
#define CP_LIBC_SIGNAL_IS_BSD true
/* Is sigtimedwait made again after a handler, with the whole time? */
#define CP_LIBC_WAITS_AGAIN false
#define CP_LIBC_READS_MASKS true /* a bad pointer to a set is a fault in libc */
#define CP_LIBC_SIGWAIT_ERROR errno
/* Does sigtimedwait give SI_USER where the kernel has SI_TKILL? */
#define CP_LIBC_TKILL_IS_USER true
/* sigtimedwait that isn't made again. */
#define CP_LIBC_SIGTIMEDWAIT CP_REAL(sigtimedwait)

/* Return the version of libc: "2.36". */
static inline const char *cp_libc_version(void)
{
	return gnu_get_libc_version();
}

/* If the program is run by the loader, that has changed the values of the program. */
static inline unsigned long cp_libc_auxval(unsigned long type)
{
	return getauxval(type);
}

/* Return true if INFO, of dl_iterate_phdr, is the program's. */
static inline bool cp_libc_is_program(const struct dl_phdr_info *info)
{
	return !info->dlpi_name || !*info->dlpi_name;
}

/* Return the end of main's stack. */
static inline uint64_t cp_libc_stack_end(void)
{
	extern void *__libc_stack_end; /* set by ld.so: the begin of main's stack */

	return (uint64_t)(uintptr_t)__libc_stack_end + sizeof(void *);
}

/* sigaltstack is the system call. */
static inline int cp_libc_refuses_altstack(const stack_t *ss)
{
	return 0;
}

/* Return ATTR, of a thread to be made, if libc gives it a stack with room for a signal; otherwise
 * *OWN, the same with more room. */
static inline const pthread_attr_t *cp_libc_roomy(const pthread_attr_t *attr, pthread_attr_t *own)
{
	return attr;
}

/* Return the table of the modules' TLS for a descriptor of a thread that has none: dl_iterate_phdr
 * reads it. The entry before the one that the thread pointer leads to is the number of modules in
 * the table; the entry itself is the generation, here one that never is, so libc looks at the
 * number. */
static inline const void *cp_libc_no_tls(const char *descriptor)
{
	static const uint64_t no_modules[2][2] = { { 0 }, { UINT64_MAX } };

	return &no_modules[1];
}

/* Store the registers of the calling function. Returns false if that fails. */
#define CP_LIBC_CONTEXT(uc) (getcontext(uc) == 0)

/* Mutexes. The layout is part of glibc's ABI. */

/* Bits of a mutex's kind; the type is in the low two bits. */
#define CP_MUTEX_TYPE 3
#define CP_MUTEX_RECURSIVE 1
#define CP_MUTEX_ADAPTIVE 3
#define CP_MUTEX_ROBUST 16
#define CP_MUTEX_INHERITS 32
#define CP_MUTEX_PROTECTS 64
/* Its word is 0, 1 or, if a thread waits, 2. With PROTECTS, it has these bits, too; with ROBUST or
 * INHERITS it is the owner's tid. */
#define CP_MUTEX_CEILING 0xfff80000u
#define CP_MUTEX_WAITERS 0x80000000u
#define CP_MUTEX_TID 0x3fffffffu

/* The member that libc's functions read first. */
static inline const int *cp_mutex_kind(const pthread_mutex_t *m)
{
	return &m->__data.__kind;
}

/* Return the word that is 0 while the mutex is free. */
static inline unsigned cp_mutex_word(const pthread_mutex_t *m)
{
	return (unsigned)cp_load_relaxed(&m->__data.__lock);
}

static inline unsigned cp_mutex_word_of_kind(const pthread_mutex_t *m, int kind)
{
	return cp_mutex_word(m) & (kind & CP_MUTEX_PROTECTS ? ~CP_MUTEX_CEILING : ~0u);
}

/* Return true if a thread has the mutex. */
static inline bool cp_mutex_is_locked(const pthread_mutex_t *m)
{
	return cp_mutex_word_of_kind(m, cp_load_relaxed(cp_mutex_kind(m))) != 0;
}

/* Return the owner of a locked mutex; 0: unknown. */
static inline int cp_mutex_owner(const pthread_mutex_t *m)
{
	return cp_load_relaxed(&m->__data.__owner);
}

/* Return the owner; 0: there is none, or it is unknown. M is a copy. */
static inline int cp_mutex_copy_owner(const pthread_mutex_t *m)
{
	unsigned word = (unsigned)m->__data.__lock;

	if (m->__data.__kind & (CP_MUTEX_ROBUST | CP_MUTEX_INHERITS))
		return (int)(word & CP_MUTEX_TID);
	return (m->__data.__kind & CP_MUTEX_PROTECTS ? word & ~CP_MUTEX_CEILING : word)
		       ? m->__data.__owner
		       : 0;
}

/* Return true if WORD, M's, says that no thread waits. For kinds whose word is 0, 1 or 2. */
static inline bool cp_mutex_is_plain(const pthread_mutex_t *m, unsigned word)
{
	return word <= 1;
}

/* Return true if unlocking the mutex lets another thread go. */
static inline bool cp_mutex_is_waited_for(const pthread_mutex_t *m)
{
	int kind = cp_load_relaxed(cp_mutex_kind(m));
	unsigned word = cp_mutex_word_of_kind(m, kind);

	if ((kind & CP_MUTEX_TYPE) == CP_MUTEX_RECURSIVE && m->__data.__count > 1)
		return false;
	return kind & (CP_MUTEX_ROBUST | CP_MUTEX_INHERITS) ? (word & CP_MUTEX_WAITERS) != 0
							    : word > 1;
}

/* Return true for the kinds of which trylock has no special results. */
static inline bool cp_mutex_is_tried(int kind)
{
	return !(kind & (CP_MUTEX_ROBUST | CP_MUTEX_INHERITS | CP_MUTEX_PROTECTS));
}

/* Return true if the mutex, which the calling thread has got, shows that it did not sleep for it: a
 * thread that slept, or can't rule out that others do, leaves 2 in the word. */
static inline bool cp_mutex_was_got_at_once(const pthread_mutex_t *m)
{
	int kind;

	if (cp_mutex_word(m) != 1)
		return false;
	kind = cp_load_relaxed(cp_mutex_kind(m));
	/* A mutex of this kind may wait without sleeping. */
	return cp_mutex_is_tried(kind) && (kind & CP_MUTEX_TYPE) != CP_MUTEX_ADAPTIVE;
}

/* Read-write locks. */

/* Bits of the word of readers: the lock is in the writers' phase; a writer has the lock, or gets it
 * as soon as the readers are gone; readers wait; one reader. */
#define CP_RWLOCK_WRITERS_PHASE 1u
#define CP_RWLOCK_WRITER 2u
#define CP_RWLOCK_READERS_WAIT 4u
#define CP_RWLOCK_READER 8u
/* Bit of the words that waiters sleep on. */
#define CP_RWLOCK_SLEPT_ON 2u

/* The member that libc's functions read first. */
static inline const int *cp_rwlock_first(const pthread_rwlock_t *l)
{
	return &l->__data.__cur_writer;
}

static inline unsigned cp_rwlock_word(const pthread_rwlock_t *l)
{
	return cp_load_relaxed(&l->__data.__readers);
}

/* Return false if the word R says that a reader, or a writer, surely needn't wait. */
static inline bool cp_rwlock_may_keep_reader(unsigned r)
{
	return r & CP_RWLOCK_WRITER;
}
static inline bool cp_rwlock_may_keep_writer(unsigned r)
{
	return r & ~CP_RWLOCK_WRITERS_PHASE;
}

/* Return true if a reader must wait. A writer that waits for the readers to go keeps new ones out
 * in one kind of lock only. */
static inline bool cp_rwlock_keeps_reader(const pthread_rwlock_t *l, unsigned r)
{
	if (!(r & CP_RWLOCK_WRITER))
		return false;
	return (r & CP_RWLOCK_WRITERS_PHASE) ||
	       (r >= CP_RWLOCK_READER && cp_load_relaxed(&l->__data.__flags) ==
						 PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

static inline bool cp_rwlock_keeps_writer(unsigned r)
{
	return (r & CP_RWLOCK_WRITER) || (!(r & CP_RWLOCK_WRITERS_PHASE) && r >= CP_RWLOCK_READER);
}

/* Return true if the unlock lets a waiter go: it is the writer's, or the last reader's. In the
 * writers' phase the readers that are counted wait. In the readers' phase they have the lock, and a
 * writer that is noted waits for them. */
static inline bool cp_rwlock_is_waited_for(const pthread_rwlock_t *l, unsigned r)
{
	if (r & CP_RWLOCK_WRITERS_PHASE ? r >= CP_RWLOCK_READER : r & CP_RWLOCK_WRITER)
		return true;
	return (r & CP_RWLOCK_READERS_WAIT) || cp_load_relaxed(&l->__data.__writers) ||
	       (cp_load_relaxed(&l->__data.__wrphase_futex) & CP_RWLOCK_SLEPT_ON) ||
	       (cp_load_relaxed(&l->__data.__writers_futex) & CP_RWLOCK_SLEPT_ON);
}

/* Return true if several readers have the lock. */
static inline bool cp_rwlock_is_shared(unsigned r)
{
	return r >= 2 * CP_RWLOCK_READER && !(r & CP_RWLOCK_WRITERS_PHASE);
}

/* Return true if at most N readers have the shared lock. */
static inline bool cp_rwlock_has_at_most(unsigned r, unsigned n)
{
	return r < (n + 1) * CP_RWLOCK_READER;
}

/* Return true if a writer waits for the readers of a shared lock. */
static inline bool cp_rwlock_awaits_readers(const pthread_rwlock_t *l, unsigned r)
{
	return r & CP_RWLOCK_WRITER;
}

/* Return the writer that has the lock; 0: there is none, or it is unknown. Sets *READERS to the
 * number of readers that have it. L is a copy. */
static inline int cp_rwlock_copy_owner(const pthread_rwlock_t *l, unsigned *readers)
{
	unsigned word = l->__data.__readers;

	*readers = word & CP_RWLOCK_WRITERS_PHASE ? 0 : word / CP_RWLOCK_READER;
	return l->__data.__cur_writer;
}

/* The semaphore's value is its first word on every 64-bit little-endian port. */
static inline bool cp_sem_is_available(const sem_t *s)
{
	return cp_load_relaxed((const uint32_t *)(const void *)s) != 0;
}

/* Did the thread wait whose pthread_barrier_wait returned RESULT? */
static inline bool cp_barrier_has_waited(int result)
{
	return result == 0;
}

#endif
