/* Freed blocks for the next samples; see heap_spares.h. */
#include "sigsafe/heap_spares.h"

#include "sigsafe/atomic.h"
#include "sigsafe/heap_hot.h"

/* What an allocator may give where TAG_MIN bytes are asked for with the tag. */
#define MOST (2 * CP_HEAP_TAG_ALIGN)

static uintptr_t spares[CP_HEAP_SPARES]; /* 0 = none */

bool cp_heap_spares_keep(void *p, size_t usable)
{
	uintptr_t a = (uintptr_t)p, none;

	/* One that could not be aligned may be smaller, and be so by chance. */
	if (a & (CP_HEAP_TAG_ALIGN - 1) || usable < CP_HEAP_TAG_MIN || usable > MOST)
		return false;
	cp_heap_filter_add(a);
	for (unsigned i = 0; i < CP_HEAP_SPARES; i++) {
		none = 0;
		/* Release: who takes it has the allocator's and our own words of it. */
		if (!cp_load_relaxed(&spares[i]) && cp_cas_acqrel(&spares[i], &none, a))
			return true;
	}
	cp_heap_filter_remove(a);
	return false;
}

void *cp_heap_spares_take(size_t size)
{
	uintptr_t a;

	for (unsigned i = 0; size <= CP_HEAP_TAG_MIN && i < CP_HEAP_SPARES; i++) {
		/* Acquire: pairs with the release in keep. */
		a = cp_load_relaxed(&spares[i]) ? cp_exchange_acqrel(&spares[i], 0) : 0;
		if (!a)
			continue;
		cp_heap_filter_remove(a);
		return (void *)a;
	}
	return NULL;
}

bool cp_heap_spares_remove(const void *p)
{
	uintptr_t a = (uintptr_t)p, seen;

	for (unsigned i = 0; a && i < CP_HEAP_SPARES; i++) {
		seen = a;
		if (cp_load_relaxed(&spares[i]) != a || !cp_cas_acqrel(&spares[i], &seen, 0))
			continue;
		cp_heap_filter_remove(a);
		return true;
	}
	return false;
}
