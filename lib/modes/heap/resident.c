/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a block's pages; see resident.h. */
#include "modes/heap/heap.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/sys.h"
#include "base/base.h"

/* Bits of an entry of pagemap. */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

int cp_resident_open(struct cp_resident *r)
{
	unsigned long page = getauxval(AT_PAGESZ);
	int fd = cp_thread_file_open("pagemap");

	if (fd < 0)
		return fd;
	r->fd = fd;
	r->page_shift = (unsigned)__builtin_ctzl(page ? page : 4096);
	r->first = r->count = 0;
	return 0;
}

void cp_resident_close(struct cp_resident *r)
{
	cp_sys_close(r->fd);
}

/* Read the entry of page FIRST, and those of up to COUNT pages from there on. Most blocks of the
 * table lie in the page of the block before. */
static int look(struct cp_resident *r, uint64_t first, uint64_t count)
{
	uint64_t n = count < CP_RESIDENT_WINDOW ? count : CP_RESIDENT_WINDOW;
	long got;

	if (first - r->first < r->count)
		return 0;
	got = cp_sys_pread(r->fd, r->window, n * sizeof(uint64_t), first * sizeof(uint64_t));
	if (got < (long)sizeof(uint64_t))
		return got < 0 ? (int)got : -EIO;
	r->first = first;
	r->count = (uint64_t)got / sizeof(uint64_t);
	return 0;
}

static enum cp_resident_kind kind_of(uint64_t entry)
{
	return entry & PRESENT	 ? CP_RESIDENT
	       : entry & SWAPPED ? CP_RESIDENT_SWAPPED
				 : CP_RESIDENT_UNTOUCHED;
}

int cp_resident_of(struct cp_resident *r, uint64_t address, uint64_t size,
		   uint64_t bytes[CP_RESIDENT_KINDS])
{
	uint64_t end = address + size, sums[CP_RESIDENT_KINDS] = { 0 };
	uint64_t last = size ? (end - 1) >> r->page_shift : 0, next;
	int err;

	for (uint64_t at = address; at < end; at = next) {
		uint64_t page = at >> r->page_shift;

		err = look(r, page, last - page + 1);
		if (err)
			return err;
		next = (page + 1) << r->page_shift;
		next = next < end ? next : end;
		sums[kind_of(r->window[page - r->first])] += next - at;
	}
	memcpy(bytes, sums, sizeof(sums));
	return 0;
}
