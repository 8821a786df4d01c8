/* Sorting without libc: its qsort may call malloc. */
#ifndef CP_SORT_H
#define CP_SORT_H

#include <stddef.h>

/* Sort N items of SIZE bytes, each beginning with a uint64_t key, by rising key. Heap sort: in
 * place, no recursion; already sorted input costs one pass. */
void cp_sort(void *items, size_t n, size_t size);

#endif
