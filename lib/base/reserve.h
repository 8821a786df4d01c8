/* SPDX-License-Identifier: BSD-3-Clause */
/* Address space that is kept for the profiles of a process that gets no more memory:
 * because of RLIMIT_AS or RLIMIT_DATA, or because it has too many mappings.
 *
 * The reserve is inaccessible until it is needed, so it takes no memory, counts for RLIMIT_AS
 * alone, and mlockall doesn't fill it. The cp_sys_map of the thread that has the collector's lock
 * takes from the reserve what the kernel refuses, and cp_sys_unmap gives that back.
 */
#ifndef CP_RESERVE_H
#define CP_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns how much to reserve at the start: 8 MiB, or a sixteenth of RLIMIT_AS if that is less. */
size_t cp_reserve_size(void);
/* Keep *SIZE inaccessible bytes at AT as the reserve. Returns the reserve before, and its size. */
void *cp_reserve_keep(void *at, size_t *size);
/* Returns the size that a reserve for ROWS rows should have; 0: as it is. */
size_t cp_reserve_wanted(size_t rows);

/* Thread TID may use half of the reserve from here on: what its drains and dumps keep must leave
 * enough for the last write. Call with the collector's lock. */
void cp_reserve_open(uint32_t tid);
/* This is the last write: the thread may use all of the reserve. */
void cp_reserve_use_all(void);
void cp_reserve_close(void);

/* Returns SIZE zeroed bytes of the reserve; NULL if the calling thread may not use it, or if there
 * is not enough left. */
void *cp_reserve_take(size_t size);
/* Returns whether SIZE bytes at AT are in the reserve. Then they are given back. */
bool cp_reserve_give(void *at, size_t size);

/* Call in a fork child. Returns the size of the reserve that the child needs; 0: it goes on with
 * the parent's. What the parent has in use there is data that the child has abandoned. It stays in
 * place, because the child may still read some of it. */
size_t cp_reserve_fork_child(void);

#endif
