/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of labels. Each set is stored once and gets a number, which samples carry.
 *
 * Captures add sets in any thread and context; the dump reads them. The store is append-only in
 * mmapped pages and lock-free, so a handler, a fork child and a reader always see whole sets. The
 * store is bounded to 16 MiB of text and 65,536 sets; beyond that cp_labelset_add returns
 * CP_LABELSET_LOST.
 */
#ifndef CP_LABELSET_H
#define CP_LABELSET_H

#include <stddef.h>
#include <stdint.h>

#define CP_LABELSET_NONE UINT32_C(0)
#define CP_LABELSET_LOST UINT32_MAX

/* Returns the number of the set TEXT: SIZE bytes of "key\0value\0" pairs, sorted by key. */
uint32_t cp_labelset_add(const char *text, size_t size);
/* The same for a set that will hardly come again, as one with a trace's number: uses at most half
 * of the store, so that the other sets keep their place. */
uint32_t cp_labelset_add_spare(const char *text, size_t size);
/* Returns the text of SET, and its size in *SIZE; "" and 0 for CP_LABELSET_NONE. */
const char *cp_labelset_text(uint32_t set, size_t *size);

#endif
