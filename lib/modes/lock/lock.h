/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/lock/, by the file that implements them. */
#ifndef CP_MODES_LOCK_LOCK_H
#define CP_MODES_LOCK_LOCK_H

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "profile/profile.h"

/* lock_names.c
 *
 * Names of locks. A name is the variable that the lock is or lies in ("pool+0x28"); the module and
 * the offset in it, where the module has no symbol for the lock; or the address, for a lock on the
 * heap or a stack.
 *
 * For lock_rows.c, lock_wakers.c and session/threads_now.c, under the collector's lock. An address
 * keeps its name until the release.
 */

/* A zeroed struct has no names. A fork child abandons its parent's, perhaps half changed, by
 * zeroing the struct. */
struct cp_lock_names {
	struct cp_arena arena;
	struct cp_vec items;   /* the addresses */
	struct cp_vec extents; /* where the modules' data is */
	struct cp_index index; /* of the items */
	size_t done;	       /* number of items that were looked up */
};

/* The names of the lock mode and its companions. */
extern struct cp_lock_names cp_lock_names_of_mode;

/* Note ADDRESS, whose name is wanted. WITHIN: ADDRESS may lie anywhere in the lock; a lock that is
 * a variable of its own is then named without an offset. */
void cp_lock_names_note(struct cp_lock_names *n, uint64_t address, bool within);
/* Find the names of all noted addresses that have none yet. An address stays without a name if its
 * name can't be found or memory is exhausted. */
void cp_lock_names_find(struct cp_lock_names *n, const struct cp_modules *modules);
/* Note the tags of A's rows from FIRST on, and find their names. */
void cp_lock_names_update(struct cp_lock_names *n, const struct cp_aggregate *a, size_t first);
/* Return the name of ADDRESS; NULL if it has none. */
const char *cp_lock_names_of(const struct cp_lock_names *n, uint64_t address);
void cp_lock_names_release(struct cp_lock_names *n);

/* lock_rows.c
 *
 * The rows of both files, that of waits and that of holders. For lock.c and lock_holders.c,
 * under the collector's lock.
 */

struct cp_record;
struct cp_encode_labels;

struct cp_lock_rows {
	struct cp_run *run;	 /* NULL: not started */
	struct cp_strata strata; /* the samples that aren't in rows yet */
	size_t named;		 /* number of rows whose locks were named; rows are only added */
};

/* Waits: strata by thread and kind of lock. Held: strata by lock; the waits for a lock are what its
 * holders have caused. */
extern struct cp_lock_rows cp_lock_waits, cp_lock_held;

/* Add a sample to R: RECORD of the thread LABEL, in the stratum STRATUM and TAG. It stands for
 * itself, SELF, and for SHARE more. */
void cp_lock_rows_add(struct cp_run *r, const struct cp_record *record, uint32_t label,
		      uint32_t stratum, uint64_t tag, const uint64_t *self, const double *share);
/* The C++ library's functions between the program and those that lock and unlock; see drop_frames
 * in output.h. std::lock_guard<T> of another mutex calls code of the program. */
#define CP_LOCK_OF_STD                                                                             \
	"__gthread_(recursive_)?mutex_(timed)?(un)?lock|std::__glibcxx_rwlock_[a-z]+|"             \
	"std::(__1::)?[a-z_]*mutex[a-z_]*(<.*>)?::.*|"                                             \
	"std::(__1::)?(lock_guard|unique_lock|scoped_lock|shared_lock)<std::[a-z_0-9:]+>::.*"
/* These are DRAINED, ROWS and LABELS of both modes; see struct cp_mode_ops. */
void cp_lock_rows_name(struct cp_run *r);
void cp_lock_rows_see(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg);
void cp_lock_rows_labels(const struct cp_run *r, const struct cp_stack *s,
			 struct cp_encode_labels *to);

/* lock.c
 *
 * Reads the owner of a lock, which libc writes into the lock.
 *
 * The lock's memory is copied by the kernel, so an address that is gone, or was never a lock's, is
 * no fault. Works whether or not the lock mode is on. Any context.
 */

struct cp_lock_owner {
	int tid;	  /* of the thread that has the lock to itself; 0 = none, or unknown */
	unsigned readers; /* threads that share a read-write lock */
};

/* Return the owner of the mutex at LOCK. The thread wrote its id when it had got the mutex, and
 * takes it out before it unlocks. So the id is true as long as that thread does nothing else. */
struct cp_lock_owner cp_lock_owner_of_mutex(uint64_t lock);
/* The same for the read-write lock at LOCK; the writer is the owner. */
struct cp_lock_owner cp_lock_owner_of_rwlock(uint64_t lock);

/* lock.c
 *
 * The originals of the functions that the lock mode interposes; see host/real.h.
 */

/* clang-format off */
/* Each as X(minor version of glibc since which it is there, 0: always, result, name, parameters). */
#define CP_LOCK_REAL_FUNCTIONS(X) \
	X(0, int, pthread_mutex_lock, (pthread_mutex_t *)) \
	X(0, int, pthread_mutex_unlock, (pthread_mutex_t *)) \
	X(0, int, pthread_mutex_trylock, (pthread_mutex_t *)) \
	X(0, int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *)) \
	X(30, int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, const struct timespec *)) \
	X(0, int, pthread_rwlock_rdlock, (pthread_rwlock_t *)) \
	X(0, int, pthread_rwlock_wrlock, (pthread_rwlock_t *)) \
	X(0, int, pthread_rwlock_unlock, (pthread_rwlock_t *)) \
	X(0, int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *)) \
	X(0, int, pthread_rwlock_trywrlock, (pthread_rwlock_t *)) \
	X(0, int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *, const struct timespec *)) \
	X(0, int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *, const struct timespec *)) \
	X(30, int, pthread_rwlock_clockrdlock, (pthread_rwlock_t *, clockid_t, const struct timespec *)) \
	X(30, int, pthread_rwlock_clockwrlock, (pthread_rwlock_t *, clockid_t, const struct timespec *)) \
	X(0, int, pthread_spin_lock, (pthread_spinlock_t *)) \
	X(0, int, pthread_spin_trylock, (pthread_spinlock_t *)) \
	X(0, int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *)) \
	X(0, int, pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) \
	X(30, int, pthread_cond_clockwait, (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *)) \
	X(0, int, pthread_cond_signal, (pthread_cond_t *)) \
	X(0, int, pthread_cond_broadcast, (pthread_cond_t *)) \
	X(0, int, sem_post, (sem_t *)) \
	X(0, int, sem_wait, (sem_t *)) \
	X(0, int, sem_trywait, (sem_t *)) \
	X(0, int, sem_timedwait, (sem_t *, const struct timespec *)) \
	X(30, int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *)) \
	X(0, int, pthread_barrier_wait, (pthread_barrier_t *)) \
	X(0, int, mtx_lock, (mtx_t *)) \
	X(0, int, mtx_timedlock, (mtx_t *, const struct timespec *)) \
	X(0, int, mtx_unlock, (mtx_t *)) \
	X(0, int, cnd_wait, (cnd_t *, mtx_t *)) \
	X(0, int, cnd_timedwait, (cnd_t *, mtx_t *, const struct timespec *)) \
	X(0, int, cnd_signal, (cnd_t *)) \
	X(0, int, cnd_broadcast, (cnd_t *)) \
	X(0, int, pthread_join, (pthread_t, void **)) \
	X(0, int, pthread_tryjoin_np, (pthread_t, void **)) \
	X(0, int, pthread_timedjoin_np, (pthread_t, void **, const struct timespec *)) \
	X(31, int, pthread_clockjoin_np, (pthread_t, void **, clockid_t, const struct timespec *)) \
	X(0, int, thrd_join, (thrd_t, int *))
#define CP_LOCK_REAL_FIELD(since, type, name, parameters) type(*name) parameters;
struct cp_lock_real { CP_LOCK_REAL_FUNCTIONS(CP_LOCK_REAL_FIELD) };
#undef CP_LOCK_REAL_FIELD
/* clang-format on */

/* Valid after cp_lock_real_resolve; a function that libc lacks is NULL. */
extern struct cp_lock_real cp_lock_real;

/* Resolve all functions. Returns the number of functions not found. Idempotent. Ordinary context,
 * in the constructor at the latest. */
int cp_lock_real_resolve(void);

/* The real NAME, resolved on first use. */
#define CP_LOCK_REAL(name)                                                                         \
	(cp_lock_real.name ? cp_lock_real.name : (cp_lock_real_resolve(), cp_lock_real.name))

/* lock.c
 *
 * The lock mode's settings.
 */

struct cp_lock_settings {
	uint64_t threshold_ns; /* CPROF_LOCK_THRESHOLD: shorter waits are counted without a stack */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_lock_settings;

#endif
