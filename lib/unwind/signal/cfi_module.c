/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the module of an address; see unwind_signal.h. */
#include "unwind/signal/unwind_signal.h"

struct cp_cfi_finder cp_cfi_finder;

static bool find_in(struct cp_cfi_snapshot *const *at, uint64_t pc, struct cp_cfi_module *m)
{
	/* Pairs with the release in cfi_modules.c: the snapshot's contents are complete. */
	const struct cp_cfi_snapshot *s = cp_load_acquire(at);
	size_t low = 0, high = s ? s->count : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (pc < s->modules[mid].start)
			high = mid;
		else
			low = mid + 1;
	}
	if (!low || pc >= s->modules[low - 1].end)
		return false;
	*m = s->modules[low - 1];
	return true;
}

/* Use libcprof's own table for a module whose linker made none. The module may be another one by
 * now. */
static void find_built(uint64_t pc, struct cp_cfi_module *m)
{
	struct cp_cfi_module ours;

	if (find_in(&cp_cfi_finder.snapshot, pc, &ours) && ours.start == m->start &&
	    ours.end == m->end)
		*m = ours;
}

bool cp_cfi_module_stays(uint64_t pc)
{
	struct cp_cfi_module m;

	return cp_cfi_lasting(pc) || find_in(&cp_cfi_finder.kept, pc, &m);
}

bool cp_cfi_module_find(uint64_t pc, struct cp_cfi_module *m)
{
	struct cp_cfi_dlfo found;

	if (!cp_cfi_finder.find) {
		if (find_in(&cp_cfi_finder.snapshot, pc, m))
			return true;
		cp_cfi_module_missed();
		return false;
	}
	if (cp_cfi_finder.find((void *)(uintptr_t)pc, &found))
		return false;
	m->start = (uint64_t)(uintptr_t)found.map_start;
	m->end = (uint64_t)(uintptr_t)found.map_end;
	m->hdr = (uint64_t)(uintptr_t)found.eh_frame;
	m->tables = m->start;
	m->tables_end = m->end;
	m->built = NULL;
	m->entries = m->usual_cie = 0;
	if (m->hdr - m->start >= m->end - m->start) {
		m->tables = cp_cfi_finder.main_tables;
		m->tables_end = cp_cfi_finder.main_tables_end;
		if (m->hdr - m->tables >= m->tables_end - m->tables)
			m->hdr = 0;
	}
	if (cp_load_relaxed(&cp_cfi_finder.snapshot))
		find_built(pc, m);
	return true;
}
