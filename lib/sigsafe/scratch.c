/* Pool of unwinding buffers; see scratch.h. */
#include "sigsafe/scratch.h"

#include <stdbool.h>
#include <stddef.h>

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

/* So many threads can be in the middle of a sample. */
#define MOST 1024u

static struct cp_scratch *all[MOST];
struct cp_scratch *cp_scratch_owned[CP_SCRATCH_OWNED];

static bool is_mine(struct cp_scratch *s)
{
	/* Acquire: pairs with give; what the owner before wrote is behind us. */
	return !cp_load_relaxed(&s->taken) && !cp_exchange_acqrel(&s->taken, 1);
}

static struct cp_scratch *make(struct cp_scratch **place)
{
	struct cp_scratch *s = cp_sys_map(sizeof(*s)), *none = NULL;

	if (!s)
		return NULL;
	s->taken = 1;
	if (cp_cas_acqrel(place, &none, s))
		return s;
	cp_sys_unmap(s, sizeof(*s));
	return NULL;
}

struct cp_scratch *cp_scratch_take(uint16_t *last)
{
	struct cp_scratch *s = cp_load_acquire(&all[*last % MOST]);

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

void cp_scratch_give(struct cp_scratch *s)
{
	cp_store_release(&s->taken, 0);
}

struct cp_scratch *cp_scratch_make_own(unsigned index)
{
	return make(&cp_scratch_owned[index]);
}
