/* Kinds of spans; see spans.h. */
#include "spans.h"

#include <stdbool.h>
#include <string.h>

#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/sys.h"

enum { FREE, NAMING, THERE };

/* Reserved whole; a kind's pages are touched with its first span, and of its histogram those that
 * durations fall into. */
static struct cp_span_kind *kinds;

static struct cp_span_kind *get_kinds(void)
{
	struct cp_span_kind *k = cp_load_acquire(&kinds), *none = NULL, *made;
	size_t size = CP_SPANS_MAX * sizeof(*k);

	if (k)
		return k;
	made = cp_sys_map(size);
	if (!made)
		return NULL;
	if (cp_cas_acqrel(&kinds, &none, made))
		return made;
	cp_sys_unmap(made, size);
	return none;
}

static uint32_t hash_of(const char *name, size_t *length)
{
	uint32_t h = 2166136261u;
	size_t n = 0;

	for (; n < CP_SPAN_NAME - 1 && name[n]; n++)
		h = (h ^ (unsigned char)name[n]) * 16777619u;
	*length = n;
	return h;
}

static bool is_named(struct cp_span_kind *k, uint32_t hash, const char *name, size_t length)
{
	/* Somebody is writing the name: a few instructions, or a signal's length where a handler
	 * interrupted them, which then finds the next place instead. */
	for (int i = 0; i < 1000 && cp_load_acquire(&k->state) == NAMING; i++)
		;
	return cp_load_acquire(&k->state) == THERE && k->hash == hash &&
	       !memcmp(k->name, name, length) && !k->name[length];
}

static struct cp_span_kind *look_up(const char *name, bool make)
{
	struct cp_span_kind *k = make ? get_kinds() : cp_load_acquire(&kinds);
	size_t length;
	uint32_t hash = hash_of(name, &length);

	for (unsigned i = 0; k && i < CP_SPANS_MAX; i++) {
		struct cp_span_kind *at = &k[(hash + i) % CP_SPANS_MAX];
		uint32_t state = cp_load_acquire(&at->state);

		if (state == FREE && !make)
			return NULL;
		if (state == FREE && cp_cas_acqrel(&at->state, &state, NAMING)) {
			at->hash = hash;
			memcpy(at->name, name, length);
			/* Release: pairs with the loads of the state. */
			cp_store_release(&at->state, THERE);
			return at;
		}
		if (is_named(at, hash, name, length))
			return at;
	}
	return NULL;
}

struct cp_span_kind *cp_spans_get(const char *name)
{
	struct cp_span_kind *k = look_up(name, true);

	if (!k)
		cp_count(CP_COUNT_LOST_SPANS, 1);
	return k;
}

struct cp_span_kind *cp_spans_find(const char *name)
{
	return look_up(name, false);
}

struct cp_span_kind *cp_spans_at(unsigned i)
{
	struct cp_span_kind *k = cp_load_acquire(&kinds);

	return k && i < CP_SPANS_MAX && cp_load_acquire(&k[i].state) == THERE ? &k[i] : NULL;
}

void cp_spans_fork_child(void)
{
	if (!kinds)
		return;
	/* Emptied, not unmapped: the handler that forked may return into the end of a span. */
	cp_sys3(SYS_madvise, (void *)kinds, CP_SPANS_MAX * sizeof(*kinds), 4 /* MADV_DONTNEED */);
}
