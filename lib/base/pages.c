/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages from mmap; see base.h. */
#include "base/base.h"

#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/sys.h"

/* Mappings of at least this size get huge pages. The last huge page may be used only in part. */
#define HUGE_FROM ((size_t)4 << 20)

void *cp_pages_map(size_t size)
{
	void *p = cp_sys_map(size);

	if (p && size >= HUGE_FROM)
		cp_sys3(SYS_madvise, p, size, MADV_HUGEPAGE);
	return p;
}

size_t cp_pages_kernel(void)
{
	static size_t size; /* every caller finds the same */

	if (!cp_load_relaxed(&size))
		cp_store_relaxed(&size, getauxval(AT_PAGESZ));
	return cp_load_relaxed(&size);
}

void *cp_pages_stack(size_t size)
{
	void *p = cp_sys_map(size);

	/* The kernel rounds up. */
	if (p)
		cp_sys3(SYS_mprotect, p, CP_PAGES_SIZE, PROT_NONE);
	return p;
}

char *cp_pages_stack_and_reserve(size_t size)
{
	size_t reserve = cp_reserve_size();
	char *at = cp_sys_map_none(reserve + size), *stack;

	if (!at) {
		reserve = 0;
		at = cp_sys_map_none(size);
	}
	stack = at ? at + reserve : NULL;
	if (at && cp_sys3(SYS_mprotect, stack + CP_ARCH_PAGE_MAX, size - CP_ARCH_PAGE_MAX,
			  PROT_READ | PROT_WRITE)) {
		cp_sys_unmap(at, reserve + size);
		return NULL;
	}
	cp_reserve_keep(at, &reserve);
	return stack;
}

static void make_reserve(size_t size)
{
	void *at = size ? cp_sys_map_none(size) : NULL;

	if (!at)
		return;
	at = cp_reserve_keep(at, &size);
	cp_sys_unmap(at, size);
}

void cp_pages_reserve_grow(size_t rows)
{
	make_reserve(cp_reserve_wanted(rows));
}

void cp_pages_reserve_fork_child(void)
{
	make_reserve(cp_reserve_fork_child());
}
