/* Sets of labels, each kept once and known by a number from then on: what a sample carries.
 *
 * Filled by captures in any thread and context, read by the dump. Append-only in pages of our
 * own and lock-free, so a handler, a fork child and a reader always see whole sets. Bounded: 16 MiB
 * of text or 65,536 sets; past that cp_labelset_add gives CP_LABELSET_LOST.
 */
#ifndef CP_LABELSET_H
#define CP_LABELSET_H

#include <stddef.h>
#include <stdint.h>

#define CP_LABELSET_NONE UINT32_C(0)
#define CP_LABELSET_LOST UINT32_MAX

/* The number of the set TEXT: SIZE bytes of "key\0value\0" pairs, sorted by key. */
uint32_t cp_labelset_add(const char *text, size_t size);
/* The text of set SET, and its size; "" and 0 for none. */
const char *cp_labelset_text(uint32_t set, size_t *size);

#endif
