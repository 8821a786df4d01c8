/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads owners out of locks; see lock.h. */
#include "modes/lock/lock.h"

#include "base/libc.h"
#include "base/sys.h"

struct cp_lock_owner cp_lock_owner_of_mutex(uint64_t lock)
{
	struct cp_lock_owner o = { 0, 0 };
	pthread_mutex_t m;

	if (cp_sys_peek(&m, lock, sizeof(m)) >= 0)
		o.tid = cp_mutex_copy_owner(&m);
	return o;
}

struct cp_lock_owner cp_lock_owner_of_rwlock(uint64_t lock)
{
	struct cp_lock_owner o = { 0, 0 };
	pthread_rwlock_t l;

	if (cp_sys_peek(&l, lock, sizeof(l)) >= 0)
		o.tid = cp_rwlock_copy_owner(&l, &o.readers);
	return o;
}
