/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages from mmap; see pages.h. */
#include "base/pages.h"

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

void *cp_pages_stack(size_t size)
{
	void *p = cp_sys_map(size);

	if (p)
		cp_sys3(SYS_mprotect, p, CP_PAGES_SIZE, PROT_NONE);
	return p;
}
