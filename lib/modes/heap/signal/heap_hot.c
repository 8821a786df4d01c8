/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter, and the addresses that free looks up; see heap_hot.h. */
#include "modes/heap/signal/heap_hot.h"

#include "base/start_data.h"

#define FULL UINT8_MAX /* the number is not known any more */

struct cp_heap_hot cp_heap_hot CP_START_DATA;
struct cp_heap_filter cp_heap_filter;

static void change_cell(uint8_t *cell, int by)
{
	uint8_t seen = cp_load_relaxed(cell);

	while (seen != FULL && !cp_cas_acqrel(cell, &seen, (uint8_t)(seen + by)))
		;
}

void cp_heap_hot_filter_add(uintptr_t address)
{
	uint8_t none = CP_HEAP_LOOK_NONE;

	change_cell(cp_heap_filter_cell(address), 1);
	if (cp_load_relaxed(&cp_heap_hot.look) == CP_HEAP_LOOK_NONE)
		cp_cas_acqrel(&cp_heap_hot.look, &none, CP_HEAP_LOOK_FILTER);
}

void cp_heap_hot_filter_remove(uintptr_t address)
{
	change_cell(cp_heap_filter_cell(address), -1);
}

void cp_heap_hot_look(enum cp_heap_look look)
{
	cp_store_seqcst(&cp_heap_hot.look, (uint8_t)look);
}
