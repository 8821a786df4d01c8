/* The heap source over jemalloc's hooks, where its malloc can't be interposed.
 *
 * jemalloc calls these in the program's threads: cp_heap_jemalloc_alloc after it allocated,
 * cp_heap_jemalloc_dalloc before it frees, cp_heap_jemalloc_expand after a block grew or shrank in
 * place. As heap_event.h, in table mode only: a block is as jemalloc gave it. They do nothing while
 * the heap mode is off, and may still be called after they were removed.
 */
#ifndef CP_HEAP_JEMALLOC_H
#define CP_HEAP_JEMALLOC_H

#include <stddef.h>
#include <stdint.h>

/* The number of hook_alloc_realloc, which is the only one whose number decides how the arguments
 * are read: 7 up to jemalloc 5.3.0, 8 since pvalloc has its own. Set before the hooks are
 * installed. */
extern unsigned cp_heap_jemalloc_realloc;

void cp_heap_jemalloc_alloc(void *extra, unsigned type, void *result, uintptr_t raw,
			    const uintptr_t args[3]);
void cp_heap_jemalloc_dalloc(void *extra, unsigned type, void *address, const uintptr_t args[3]);
void cp_heap_jemalloc_expand(void *extra, unsigned type, void *address, size_t before, size_t after,
			     uintptr_t raw, const uintptr_t args[4]);

#endif
