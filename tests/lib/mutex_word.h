/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks into a plain mutex, which is laid out otherwise in each libc. */
#ifndef TESTS_MUTEX_WORD_H
#define TESTS_MUTEX_WORD_H

#include <pthread.h>
#include <stdbool.h>

/* Does a thread sleep until M is unlocked? */
static inline bool mutex_is_awaited(const pthread_mutex_t *m)
{
#ifdef __GLIBC__
	return __atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) == 2;
#else
	return __atomic_load_n(&m->__u.__vi[2], __ATOMIC_RELAXED) != 0;
#endif
}

#endif
