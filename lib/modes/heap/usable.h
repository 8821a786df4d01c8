/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that the program's allocator gives for a request: what it rounds sizes up to.
 *
 * The dump asks, under the collector's lock, when the block may have been freed. So the answer
 * isn't read from the block: it is computed from the size, as the allocator does.
 */
#ifndef CP_USABLE_H
#define CP_USABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Is it known how the program's allocator rounds? */
bool cp_usable_is_known(void);
/* Returns the usable bytes, at least SIZE, of a block of SIZE bytes at ADDRESS. Call only if they
 * are known. */
uint64_t cp_usable_of(uint64_t size, uint64_t address);

/* The size classes of glibc (2.26 on, 64 bits) and jemalloc (4 on), for tests. */
uint64_t cp_usable_glibc(uint64_t size, uint64_t address);
uint64_t cp_usable_jemalloc(uint64_t size);

#endif
