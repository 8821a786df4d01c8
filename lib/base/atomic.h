/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations named by memory order, so that each order can be searched for. A call with an
 * order stronger than relaxed says in a comment which call it pairs with. */
#ifndef CP_ATOMIC_H
#define CP_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define cp_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define cp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define cp_load_seqcst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define cp_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define cp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define cp_store_seqcst(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define cp_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define cp_add_seqcst(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define cp_or_seqcst(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define cp_and_seqcst(p, v) __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
/* Orders all accesses before it with the stores after it. Free on x86-64. */
#define cp_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define cp_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define cp_exchange_acqrel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define cp_cas_acqrel(p, expected, v)                                                              \
	__atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Adds V to *P. Only the owning thread and its own handlers add to *P; other threads only read. A
 * single instruction without the lock prefix is atomic against the thread's own handlers. */
static inline void cp_add_local(uint64_t *p, uint64_t v)
{
#if defined(__x86_64__)
	__asm__ volatile("addq %1, %0" : "+m"(*p) : "er"(v) : "cc");
#else
	cp_add_relaxed(p, v);
#endif
}

/* A compiler barrier. Orders a thread with its own signal handler. */
#define cp_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
