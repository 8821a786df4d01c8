/* SPDX-License-Identifier: BSD-3-Clause */
/* The mark is a page that the kernel wipes in every copy (since Linux 4.14); see host.h. */
#include "host/host.h"

static uint32_t *mark; /* NULL: not made yet, or the kernel has no such pages */
static uint32_t expected;

static uint32_t *make_mark(void)
{
	uint32_t *page = cp_sys_map(sizeof(*page));

	if (page && cp_sys3(SYS_madvise, page, sizeof(*page), MADV_WIPEONFORK) < 0) {
		cp_sys_unmap(page, sizeof(*page));
		page = NULL;
	}
	return page;
}

void cp_fork_mark_set(void)
{
	if (!mark)
		mark = make_mark();
	if (mark)
		cp_store_relaxed(mark, 1);
	cp_store_relaxed(&expected, 0);
}

void cp_fork_mark_expect(bool fork)
{
	cp_store_relaxed(&expected, fork);
}

bool cp_fork_mark_is_there(void)
{
	return mark && cp_load_relaxed(mark);
}

bool cp_fork_mark_is_gone(void)
{
	return mark && !cp_load_relaxed(mark) && !cp_load_relaxed(&expected);
}
