/* A page that the kernel wipes in every copy (since 4.14); see mark.h. */
#include "mark.h"

#include <stddef.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

static uint32_t *mark; /* NULL: none was made, or can be */
static uint32_t expected;

static uint32_t *make(void)
{
	uint32_t *page = cp_sys_map(sizeof(*page));

	if (page && cp_sys3(SYS_madvise, page, sizeof(*page), MADV_WIPEONFORK) < 0) {
		cp_sys_unmap(page, sizeof(*page));
		page = NULL;
	}
	return page;
}

void cp_mark_set(void)
{
	if (!mark)
		mark = make();
	if (mark)
		cp_store_relaxed(mark, 1);
	cp_store_relaxed(&expected, 0);
}

void cp_mark_expect(bool fork)
{
	cp_store_relaxed(&expected, fork);
}

bool cp_mark_is_gone(void)
{
	return mark && !cp_load_relaxed(mark) && !cp_load_relaxed(&expected);
}
