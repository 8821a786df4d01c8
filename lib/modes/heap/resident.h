/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a block is in memory, is swapped out, or was never touched.
 *
 * /proc/thread-self/pagemap says for each page of the process whether it is present or swapped; no
 * privilege is needed for that. The dump asks, under the collector's lock. A block counts for the
 * part of each page that it covers.
 */
#ifndef CP_RESIDENT_H
#define CP_RESIDENT_H

#include <stdint.h>

enum cp_resident_kind { CP_RESIDENT, CP_RESIDENT_SWAPPED, CP_RESIDENT_UNTOUCHED };
#define CP_RESIDENT_KINDS 3

/* Pages that are read at once. */
#define CP_RESIDENT_WINDOW 512

struct cp_resident {
	int fd;
	unsigned page_shift;
	uint64_t first, count; /* the pages whose entries are in WINDOW */
	uint64_t window[CP_RESIDENT_WINDOW];
};

/* Returns 0, or a negative errno where the kernel or a sandbox has no such file; then don't call
 * the others. */
int cp_resident_open(struct cp_resident *r);
/* Sets BYTES to what the SIZE bytes at ADDRESS consist of; their sum is SIZE. Returns 0, or a
 * negative errno; then BYTES is unchanged. */
int cp_resident_of(struct cp_resident *r, uint64_t address, uint64_t size,
		   uint64_t bytes[CP_RESIDENT_KINDS]);
void cp_resident_close(struct cp_resident *r);

#endif
