/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting and searching without libc, whose qsort may call malloc. Items begin with a uint64_t
 * key. */
#ifndef CP_SORT_H
#define CP_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts N items of SIZE bytes by rising key. Heap sort: in place, no recursion. Input that is
 * already sorted costs one pass. */
void cp_sort(void *items, size_t n, size_t size);

/* Returns the index of the first of N sorted items whose key is at least KEY; N if all keys are
 * below KEY. */
size_t cp_sort_first(const void *items, size_t n, size_t size, uint64_t key);

#endif
