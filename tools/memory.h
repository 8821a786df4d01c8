/* Memory of the tool: allocation that ends the program instead of failing, and arrays that grow.
 * The profiled program is never ours here, so giving up is fine.
 */
#ifndef CT_MEMORY_H
#define CT_MEMORY_H

#include <stddef.h>

void *ct_alloc(size_t size);			      /* zeroed */
void *ct_realloc(void *p, size_t count, size_t size); /* count * size, checked */
char *ct_strdup(const char *s);
char *ct_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Room for COUNT items of SIZE in ITEMS, of which ROOM are there now; at least doubles. */
void *ct_grow(void *items, size_t *room, size_t count, size_t size);

/* One more (zeroed by nobody) item behind ARRAY[COUNT], of which ROOM are allocated. */
#define CT_PUSH(array, count, room)                                                                \
	((count) < (room)                                                                          \
		 ? (void)0                                                                         \
		 : (void)((array) = ct_grow((array), &(room), (count) + 1, sizeof(*(array)))),     \
	 &(array)[(count)++])

#endif
