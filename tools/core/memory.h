/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the tool: allocation that ends the process instead of failing, and arrays that grow.
 * Only cprof itself runs this code, never a profiled program, so ending the process is acceptable.
 */
#ifndef CT_MEMORY_H
#define CT_MEMORY_H

#include <stddef.h>

void *ct_memory_alloc(size_t size);			     /* zeroed */
void *ct_memory_realloc(void *p, size_t count, size_t size); /* count * size, checked */
char *ct_memory_strdup(const char *s);
char *ct_memory_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns ITEMS with room for COUNT items of SIZE bytes. ROOM is the present room, and at least
 * doubles. */
void *ct_memory_grow(void *items, size_t *room, size_t count, size_t size);

/* Makes room for one more item, not zeroed, at ARRAY[COUNT], of which ROOM are allocated. */
#define CT_PUSH(array, count, room)                                                                \
	((count) < (room) ? (void)0                                                                \
			  : (void)((array) = ct_memory_grow((array), &(room), (count) + 1,         \
							    sizeof(*(array)))),                    \
	 &(array)[(count)++])

#endif
