/* SPDX-License-Identifier: BSD-3-Clause */
/* How allocators round sizes; see allocator.h. */
#include "modes/heap/allocator.h"

#include "base/base.h"

/* glibc: a chunk has a header of 8 bytes and is a multiple of 16, at least 32. A chunk that was
 * mapped has a header of 16 bytes at the start of a page. */
#define HEADER 8u
#define CHUNK_MIN 32u
#define MAPPED_HEADER 16u
#define MAPPED_MIN (UINT64_C(128) << 10)

/* jemalloc: 8, then multiples of 16 up to 128, then four classes for each power of two. */
#define TINY 8u
#define QUANTUM 16u
#define LINEAR_MOST 128u
#define CLASSES_BITS 2u

/* mimalloc 2: blocks that mi_good_size rounds to pages are made of slices. */
#define SLICE (UINT64_C(64) << 10)
#define SLICED_MIN (UINT64_C(128) << 10)

/* Sizes above are no allocation, and would overflow. */
#define SIZE_MOST (UINT64_C(1) << 62)

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

uint64_t cp_usable_glibc(uint64_t size, uint64_t address)
{
	uint64_t chunk = round_up(size + HEADER, 2 * HEADER);

	if (size >= MAPPED_MIN && address % CP_PAGES_SIZE == MAPPED_HEADER)
		return round_up(size + MAPPED_HEADER, CP_PAGES_SIZE) - MAPPED_HEADER;
	return (chunk < CHUNK_MIN ? CHUNK_MIN : chunk) - HEADER;
}

uint64_t cp_usable_jemalloc(uint64_t size)
{
	if (size <= TINY)
		return TINY;
	if (size <= LINEAR_MOST)
		return round_up(size, QUANTUM);
	return round_up(size, UINT64_C(1) << (63 - __builtin_clzl(size - 1) - (int)CLASSES_BITS));
}

/* These functions of tcmalloc and mimalloc compute without locks and without data of the thread, so
 * the collector may call them. */
static uint64_t ask(uint64_t size)
{
	if (cp_allocator.nallocx)
		return cp_allocator.nallocx(size, 0);
	return size > SLICED_MIN ? round_up(size, SLICE) : cp_allocator.good_size(size);
}

bool cp_usable_is_known(void)
{
	return cp_allocator.is_glibc || cp_allocator.is_jemalloc || cp_allocator.nallocx ||
	       cp_allocator.good_size;
}

uint64_t cp_usable_of(uint64_t size, uint64_t address)
{
	uint64_t usable = size;

	if (size > SIZE_MOST)
		return size;
	if (cp_allocator.is_glibc)
		usable = cp_usable_glibc(size, address);
	else if (cp_allocator.is_jemalloc)
		usable = cp_usable_jemalloc(size);
	else
		usable = ask(size);
	return usable > size ? usable : size;
}
