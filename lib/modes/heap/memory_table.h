/* SPDX-License-Identifier: BSD-3-Clause */
/* What the process's resident memory consists of: a table whose rows add up to it.
 *
 * /proc/thread-self/smaps says how much of each mapping is resident. The dump reads it under the
 * collector's lock, and then says which addresses are blocks of the heap: the mappings with blocks
 * are the allocator's.
 */
#ifndef CP_MEMORY_TABLE_H
#define CP_MEMORY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbols/modules.h"

enum cp_memory_table_kind {
	CP_MEMORY_HEAP,	     /* the allocator's mappings */
	CP_MEMORY_FILES,     /* the program, libraries, other files, and the modules' zeroed data */
	CP_MEMORY_SHARED,    /* shared memory without a file on disk */
	CP_MEMORY_STACKS,    /* of main and of the threads that are known */
	CP_MEMORY_ANONYMOUS, /* other anonymous mappings */
	CP_MEMORY_OWN,	     /* the profiler's */
};
#define CP_MEMORY_KINDS 6

struct cp_memory_table {
	struct cp_vec areas;  /* sorted by address */
	struct cp_vec stacks; /* uint64_t: an address in each thread's stack, sorted */
	const char *own_path; /* of the library, or NULL */
	bool is_glibc;	      /* glibc's malloc: its arenas are known by their addresses */
	size_t found;	      /* the area of the last mark */
	uint64_t swapped;     /* bytes of all mappings */
};

/* Resident bytes by kind, and what is swapped. */
struct cp_memory_sums {
	uint64_t resident[CP_MEMORY_KINDS], swapped;
};

/* Reads the process's mappings. Returns 0 or a negative errno; then T is empty. Call release in any
 * case. */
int cp_memory_table_read(struct cp_memory_table *t, const struct cp_modules *modules,
			 bool is_glibc);
/* Adds the text of a part of smaps, whole lines only; for read, and for tests. Returns 0 or
 * -ENOMEM. */
int cp_memory_table_add(struct cp_memory_table *t, char *text);
/* There is a block of the heap at ADDRESS. */
void cp_memory_table_mark(struct cp_memory_table *t, uint64_t address);
void cp_memory_table_sum(const struct cp_memory_table *t, struct cp_memory_sums *to);
void cp_memory_table_release(struct cp_memory_table *t);

#endif
