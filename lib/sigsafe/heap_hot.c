/* The filter, and what free looks at; see heap_hot.h. */
#include "sigsafe/heap_hot.h"

#define FULL UINT8_MAX /* nobody knows how many: stays so */

struct cp_heap_hot cp_heap_hot;
struct cp_heap_filter cp_heap_filter;

static bool tagged; /* some ever; such ones may live until the end */
static bool odd;    /* ever: a block without a tag that free must look at; then it asks for all */

static void change(uint8_t *cell, int by)
{
	uint8_t seen = cp_load_relaxed(cell);

	while (seen != FULL && !cp_cas_acqrel(cell, &seen, (uint8_t)(seen + by)))
		;
}

static void set(uintptr_t mask)
{
	cp_store_seqcst(&cp_heap_hot.mask, mask);
}

/* Who adds the first odd one stores ODD first, and who sets reads it last: whatever comes first,
 * the filter is asked for all at the end. */
static void set_unless_odd(uintptr_t mask)
{
	set(mask);
	if (cp_load_seqcst(&odd))
		set(0);
}

void cp_heap_filter_add(uintptr_t address)
{
	change(cp_heap_filter_cell(address), 1);
	if (!(address & (CP_HEAP_TAG_ALIGN - 1)) || cp_load_relaxed(&odd))
		return;
	cp_store_seqcst(&odd, true);
	set(0);
}

void cp_heap_filter_remove(uintptr_t address)
{
	change(cp_heap_filter_cell(address), -1);
}

void cp_heap_hot_look(bool all, bool with_tags)
{
	cp_heap_hot.tags = with_tags;
	tagged = tagged || with_tags;
	cp_store_seqcst(&cp_heap_hot.filtered, !all);
	if (with_tags)
		set_unless_odd(CP_HEAP_TAG_ALIGN - 1);
	else
		set(0);
}

/* Tagged blocks are larger than the program believes: their frees are told apart for as long as
 * there are any. The allocator's early blocks are tagged, too. */
void cp_heap_hot_rest(void)
{
	cp_store_seqcst(&cp_heap_hot.filtered, 1);
	set_unless_odd(CP_HEAP_TAG_ALIGN - 1);
}

bool cp_heap_hot_tagged(void)
{
	return tagged;
}
