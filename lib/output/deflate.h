/* SPDX-License-Identifier: BSD-3-Clause */
/* A small gzip for where zlib can't be used (sink_gzip.c): repeated bytes become references, and
 * all codes are deflate's fixed ones. Files are about a third larger than zlib's.
 *
 * Pure: works on the caller's memory.
 */
#ifndef CP_DEFLATE_H
#define CP_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#define CP_DEFLATE_WINDOW ((size_t)32 << 10) /* how far back a reference reaches */
#define CP_DEFLATE_OUT ((size_t)8 << 10)
#define CP_DEFLATE_HASHES ((size_t)4096)

/* All zero at the beginning, but for WRITE and TO. */
struct cp_deflate {
	int (*write)(void *to, const void *data, size_t n); /* gets the output; 0 or an error */
	void *to;
	int error;	     /* the first of WRITE */
	uint32_t crc, total; /* of the input */
	uint64_t bits;	     /* not yet in OUT; the first is the lowest */
	unsigned bit_count;
	size_t begun;	      /* the header is written */
	size_t filled, coded; /* bytes of WINDOW that are there, and those that were coded */
	size_t used;	      /* bytes of OUT */
	/* By the hash of three bytes: 1 + the place in WINDOW where they were last; 0: nowhere. */
	uint32_t last[CP_DEFLATE_HASHES];
	uint8_t out[CP_DEFLATE_OUT];
	uint8_t window[2 * CP_DEFLATE_WINDOW];
};

/* Code N bytes. Returns 0 or the error of WRITE. */
int cp_deflate_put(struct cp_deflate *d, const void *data, size_t n);
/* Code what is left, and the end. Returns 0 or the error of WRITE. */
int cp_deflate_end(struct cp_deflate *d);

#endif
