/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap source on top of jemalloc's hooks, for programs whose malloc can't be interposed.
 *
 * jemalloc calls these functions in the program's threads: cp_heap_jemalloc_alloc after it
 * allocated, cp_heap_jemalloc_dalloc before it frees, cp_heap_jemalloc_expand after a block grew or
 * shrank in place. The rules of heap_event.h apply, in table mode only, because blocks keep
 * jemalloc's alignment. The functions do nothing while the heap mode is off. jemalloc may still
 * call them after the hooks were removed.
 */
#ifndef CP_HEAP_JEMALLOC_H
#define CP_HEAP_JEMALLOC_H

#include <stddef.h>
#include <stdint.h>

/* The number of hook_alloc_realloc, the only number that decides how the arguments are read: 7 up
 * to jemalloc 5.3.0, 8 in later versions, where pvalloc has a number. Set before the hooks are
 * installed. */
extern unsigned cp_heap_jemalloc_realloc;

void cp_heap_jemalloc_alloc(void *extra, unsigned type, void *result, uintptr_t raw,
			    const uintptr_t args[3]);
void cp_heap_jemalloc_dalloc(void *extra, unsigned type, void *address, const uintptr_t args[3]);
void cp_heap_jemalloc_expand(void *extra, unsigned type, void *address, size_t before, size_t after,
			     uintptr_t raw, const uintptr_t args[4]);

/* Hooks of the blocks that jemalloc samples itself, with its own interval: mean bytes between
 * samples, 2 or more, set before these hooks are installed. jemalloc draws by usable size. */
extern uint64_t cp_heap_jemalloc_interval;
typedef void cp_heap_jemalloc_sample(const void *p, size_t size, void **frames, unsigned depth,
				     size_t usable);
typedef void cp_heap_jemalloc_sample_free(const void *p, size_t usable);

/* Stores the caller's stack in FRAMES, up to MOST return addresses, and their number in *DEPTH. */
typedef void cp_heap_jemalloc_unwinder(void **frames, unsigned *depth, unsigned most);

cp_heap_jemalloc_unwinder cp_heap_jemalloc_backtrace;
cp_heap_jemalloc_sample cp_heap_jemalloc_sampled;
cp_heap_jemalloc_sample_free cp_heap_jemalloc_freed;

#endif
