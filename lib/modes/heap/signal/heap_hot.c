/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter, and the addresses that free looks up; see heap_hot.h. */
#include "modes/heap/signal/heap_hot.h"

#include "base/start_data.h"

#define FULL UINT8_MAX /* the number is unknown, and stays so */

struct cp_heap_hot cp_heap_hot CP_START_DATA;
struct cp_heap_filter cp_heap_filter;

static bool tagged; /* tags were ever in use; tagged blocks may live until the end */

static void change(uint8_t *cell, int by)
{
	uint8_t seen = cp_load_relaxed(cell);

	while (seen != FULL && !cp_cas_acqrel(cell, &seen, (uint8_t)(seen + by)))
		;
}

#define ODD_MOST UINT16_MAX /* the number is unknown, and stays so */

static void begin_odd(union cp_heap_look *l, uintptr_t address)
{
	if (l->odd != ODD_MOST)
		l->odd++;
	l->odd_bits |= (uint16_t)address;
}

static void end_odd(union cp_heap_look *l, uintptr_t address)
{
	(void)address;
	if (l->odd != ODD_MOST && --l->odd == 0)
		l->odd_bits = 0;
}

static void set_base(union cp_heap_look *l, uintptr_t base)
{
	l->base = (uint16_t)base;
}

static void change_look(void (*change_it)(union cp_heap_look *l, uintptr_t arg), uintptr_t arg)
{
	union cp_heap_look seen = { .word = cp_load_relaxed(&cp_heap_hot.look.word) }, next;

	do {
		next = seen;
		change_it(&next, arg);
		next.mask = (uint16_t)(next.base & ~next.odd_bits);
	} while (!cp_cas_acqrel(&cp_heap_hot.look.word, &seen.word, next.word));
}

void cp_heap_hot_filter_add(uintptr_t address)
{
	change(cp_heap_filter_cell(address), 1);
	if (cp_heap_hot_is_odd(address))
		change_look(begin_odd, address);
}

void cp_heap_hot_filter_remove(uintptr_t address)
{
	change(cp_heap_filter_cell(address), -1);
	if (cp_heap_hot_is_odd(address))
		change_look(end_odd, address);
}

void cp_heap_hot_look(bool all, bool with_tags)
{
	cp_heap_hot.tags = with_tags;
	tagged = tagged || with_tags;
	cp_store_seqcst(&cp_heap_hot.filtered, !all);
	change_look(set_base, with_tags ? CP_HEAP_TAG_ALIGN - 1 : 0);
}

/* Tagged blocks are larger than the program believes, so free must recognize them as long as there
 * are any. The allocator's early blocks are tagged, too. */
void cp_heap_hot_rest(void)
{
	cp_store_seqcst(&cp_heap_hot.filtered, 1);
	change_look(set_base, CP_HEAP_TAG_ALIGN - 1);
}

bool cp_heap_hot_tagged(void)
{
	return tagged;
}
