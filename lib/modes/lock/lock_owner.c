/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads owners out of locks, in glibc's layout, which is part of its ABI; see lock.h. */
#include "modes/lock/lock.h"

#include "base/sys.h"
#include "modes/lock/signal/lock_signal.h"

/* The bits of a word that is the owner's tid. */
#define WORD_TID 0x3fffffffu
/* Bits of a read-write lock's word, glibc's PTHREAD_RWLOCK_WRPHASE and _READER_SHIFT. */
#define RWLOCK_WRITER_PHASE 1u
#define RWLOCK_READER_SHIFT 3

struct cp_lock_owner cp_lock_owner_of_mutex(uint64_t lock)
{
	struct cp_lock_owner o = { 0, 0 };
	pthread_mutex_t m;
	unsigned word;

	if (cp_sys_peek(&m, lock, sizeof(m)) < 0)
		return o;
	word = (unsigned)m.__data.__lock;
	if (m.__data.__kind & (CP_LOCK_MUTEX_ROBUST | CP_LOCK_MUTEX_INHERITS))
		o.tid = (int)(word & WORD_TID);
	else if (m.__data.__kind & CP_LOCK_MUTEX_PROTECTS ? word & ~CP_LOCK_WORD_CEILING : word)
		o.tid = m.__data.__owner;
	return o;
}

struct cp_lock_owner cp_lock_owner_of_rwlock(uint64_t lock)
{
	struct cp_lock_owner o = { 0, 0 };
	pthread_rwlock_t l;
	unsigned word;

	if (cp_sys_peek(&l, lock, sizeof(l)) < 0)
		return o;
	word = l.__data.__readers;
	o.tid = l.__data.__cur_writer;
	if (!(word & RWLOCK_WRITER_PHASE))
		o.readers = word >> RWLOCK_READER_SHIFT;
	return o;
}
