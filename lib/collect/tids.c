/* SPDX-License-Identifier: BSD-3-Clause */
/* Records by thread id; see collect.h. */
#include "collect/collect.h"

#include "base/base.h"
#include "base/atomic.h"
#include "sample/thread.h"

static struct cp_index records;

static bool is_live(const struct cp_thread *t, int tid)
{
	return cp_load_relaxed(&t->tid) == tid && cp_load_acquire(&t->state) == CP_THREAD_LIVE;
}

static bool same(uint32_t item, const void *tid, const void *unused)
{
	return is_live(cp_thread_at(item), *(const int *)tid);
}

void cp_tids_read(void)
{
	cp_index_clear(&records);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		int tid = cp_load_relaxed(&cp_thread_at(i)->tid);

		/* Without memory, look-ups find fewer records. */
		if (is_live(cp_thread_at(i), tid) &&
		    cp_index_add(&records, cp_index_hash(&tid, sizeof(tid)), i) < 0)
			return;
	}
}

struct cp_thread *cp_tids_find(int tid)
{
	uint32_t i = cp_index_find(&records, cp_index_hash(&tid, sizeof(tid)), same, &tid, NULL);

	return i == CP_INDEX_NONE ? NULL : cp_thread_at(i);
}

void cp_tids_fork_child(void)
{
	/* Abandoned, not freed: the parent may have been moving it. */
	records = (struct cp_index){ 0 };
}
