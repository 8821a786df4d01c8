/* SPDX-License-Identifier: BSD-3-Clause */
/* Pool of unwind buffers; see stack_cache.h. */
#include "modes/heap/signal/stack_cache.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/sys.h"

/* This many threads can be taking a sample at the same time. */
#define MOST 1024u

static struct cp_unwind_buffer *all[MOST];
struct cp_unwind_buffer *cp_unwind_buffer_owned[CP_UNWIND_BUFFER_OWNED];

static bool is_mine(struct cp_unwind_buffer *s)
{
	/* Acquire: pairs with give; all writes of the previous owner are visible. */
	return !cp_load_relaxed(&s->taken) && !cp_exchange_acqrel(&s->taken, 1);
}

static struct cp_unwind_buffer *make(struct cp_unwind_buffer **place)
{
	struct cp_unwind_buffer *s = cp_sys_map(sizeof(*s)), *none = NULL;

	if (!s)
		return NULL;
	s->taken = 1;
	if (cp_cas_acqrel(place, &none, s))
		return s;
	cp_sys_unmap(s, sizeof(*s));
	return NULL;
}

struct cp_unwind_buffer *cp_unwind_buffer_take(uint16_t *last)
{
	struct cp_unwind_buffer *s = cp_load_acquire(&all[*last % MOST]);

	if (__builtin_expect(s && is_mine(s), 1))
		return s;
	for (unsigned i = 0; i < MOST; i++) {
		s = cp_load_acquire(&all[i]);
		if (s ? !is_mine(s) : !(s = make(&all[i])))
			continue;
		*last = (uint16_t)i;
		return s;
	}
	return NULL;
}

void cp_unwind_buffer_give(struct cp_unwind_buffer *s)
{
	cp_store_release(&s->taken, 0);
}

struct cp_unwind_buffer *cp_unwind_buffer_make_own(unsigned index)
{
	return make(&cp_unwind_buffer_owned[index]);
}
