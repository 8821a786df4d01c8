/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory the process uses, and how near it is to the limit at which the kernel ends it.
 *
 * The limits are the cgroup's (v1 or v2, and those of the groups around it), RLIMIT_AS, and the
 * machine's memory. The collector asks several times a second, with raw system calls only.
 */
#ifndef CP_MEMORY_USE_H
#define CP_MEMORY_USE_H

#include <stdint.h>

/* The address space, the machine, and the groups around each other. */
#define CP_MEMORY_USE_LIMITS 16

struct cp_memory_use {
	uint64_t resident; /* of the process, bytes */
	struct cp_memory_limit {
		uint64_t used, limit; /* bytes; LIMIT is not 0 */
		const char *of;	      /* whose limit that is */
	} limits[CP_MEMORY_USE_LIMITS];
	unsigned count;
	unsigned stalled; /* PSI: share of the last ten seconds in which all tasks waited for
			     memory, per cent; 0 where the kernel doesn't say */
};

/* Returns the number after KEY and its blanks in TEXT, as /proc has it: "VmRSS:". Returns 0 if
 * there is none. */
uint64_t cp_memory_use_number(const char *text, const char *key);
/* Finds the process's cgroup. Call when a watch starts, and in a fork child. */
void cp_memory_use_find(void);
/* Reads how much is used now. What can't be read is 0. */
void cp_memory_use_read(struct cp_memory_use *to);
/* The same from files below ROOT, for tests: ROOT/proc and ROOT/sys/fs/cgroup. "" by default. */
void cp_memory_use_set_root(const char *root);

#endif
