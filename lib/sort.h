/* Sorting and searching without libc: its qsort may call malloc. Items begin with a uint64_t key.
 */
#ifndef CP_SORT_H
#define CP_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sort N items of SIZE bytes by rising key. Heap sort: in place, no recursion; already sorted
 * input costs one pass. */
void cp_sort(void *items, size_t n, size_t size);

/* Number of the first of N sorted items whose key is at least KEY; N where all are below. */
size_t cp_sort_first(const void *items, size_t n, size_t size, uint64_t key);

#endif
