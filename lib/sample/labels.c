/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread's labels; see thread.h. */
#include "sample/thread.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

_Static_assert(sizeof(struct cp_labels) <= 4096, "one page a thread");

struct cp_labels *cp_labels_new(void)
{
	return cp_sys_map(4096);
}

void cp_labels_free(struct cp_labels *l)
{
	if (l)
		cp_sys_unmap(l, 4096);
}

struct cp_labels *cp_labels_clone(const struct cp_labels *from)
{
	struct cp_labels *to = cp_labels_new();

	if (!to)
		return NULL;
	memcpy(to->label, from->label, sizeof(to->label));
	to->used = from->used;
	to->inherit = from->inherit;
	/* Not 0, which is cached_version: so the labels don't count as cached. */
	to->version = 2;
	return to;
}

/* Called around every change. The fences keep the compiler from moving stores across, which is
 * enough for a handler of this thread. The release is for the collector, which reads VERSION, the
 * labels, and VERSION again. */
static void begin_change(struct cp_labels *l)
{
	cp_store_relaxed(&l->version, l->version + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_change(struct cp_labels *l)
{
	cp_store_release(&l->version, l->version + 1);
}

#define ALL ((UINT32_C(1) << CP_LABELS_MAX) - 1)
#define NO_LABEL (-1)

/* Returns the label's index, or NO_LABEL. */
static int find_label(const struct cp_labels *l, const char *key, size_t size)
{
	for (uint32_t left = l->used; left; left &= left - 1) {
		int i = __builtin_ctz(left);
		const struct cp_label *label = &l->label[i];

		if (label->key_size == size && label->key[0] == key[0] &&
		    !memcmp(label->key, key, size))
			return i;
	}
	return NO_LABEL;
}

const struct cp_label *cp_labels_find(const struct cp_labels *l, const char *key, size_t key_size)
{
	int i = find_label(l, key, key_size);

	return i == NO_LABEL ? NULL : &l->label[i];
}

/* Writes a value. A handler relies on the label's bit in USED: it is 0 before the other fields
 * change, and 1 when they are complete. */
static void write_label(struct cp_labels *l, int i, const char *value, size_t value_size)
{
	struct cp_label *label = &l->label[i];

	memcpy(label->value, value, value_size);
	label->value_size = (uint8_t)value_size;
	cp_signal_fence();
	cp_store_relaxed(&l->used, l->used | UINT32_C(1) << i);
}

int cp_labels_set(struct cp_labels *l, const char *key, size_t key_size, const char *value,
		  size_t value_size)
{
	int i = find_label(l, key, key_size);
	bool found = i != NO_LABEL;

	if (!found && l->used == ALL)
		return -ENOSPC;
	begin_change(l);
	if (found) {
		cp_store_relaxed(&l->used, l->used & ~(UINT32_C(1) << i));
		cp_signal_fence();
	} else {
		i = __builtin_ctz(~l->used);
		memcpy(l->label[i].key, key, key_size);
		l->label[i].key_size = (uint8_t)key_size;
	}
	write_label(l, i, value, value_size);
	end_change(l);
	return 0;
}

int cp_labels_clear(struct cp_labels *l, const char *key, size_t key_size)
{
	int i = find_label(l, key, key_size);

	if (i == NO_LABEL)
		return -ENOENT;
	begin_change(l);
	cp_store_relaxed(&l->used, l->used & ~(UINT32_C(1) << i));
	end_change(l);
	return 0;
}

void cp_labels_clear_all(struct cp_labels *l)
{
	begin_change(l);
	cp_store_relaxed(&l->used, 0);
	end_change(l);
}

static bool sorts_before(const struct cp_label *a, const struct cp_label *b)
{
	size_t n = a->key_size < b->key_size ? a->key_size : b->key_size;
	int order = memcmp(a->key, b->key, n);

	return order ? order < 0 : a->key_size < b->key_size;
}

static void insert_label(const struct cp_label **to, unsigned n, const struct cp_label *label)
{
	for (; n > 0 && sorts_before(label, to[n - 1]); n--)
		to[n] = to[n - 1];
	to[n] = label;
}

/* Stores the used labels in TO, sorted by key, so that equal sets have equal text. Returns their
 * number. */
static unsigned sort_labels(const struct cp_labels *l, const struct cp_label **to)
{
	unsigned n = 0;

	for (uint32_t left = l ? cp_load_relaxed(&l->used) : 0; left; left &= left - 1)
		insert_label(to, n++, &l->label[__builtin_ctz(left)]);
	return n;
}

static size_t put_text(char *to, const char *text, size_t size)
{
	memcpy(to, text, size);
	to[size] = '\0';
	return size + 1;
}

#define TEXT_MAX (CP_LABELS_MAX * (CP_LABEL_KEY_MAX + CP_LABEL_VALUE_MAX + 2))

static size_t join_labels(char *text, const struct cp_label **sorted, unsigned n)
{
	size_t size = 0;

	for (unsigned i = 0; i < n; i++) {
		size += put_text(text + size, sorted[i]->key, sorted[i]->key_size);
		size += put_text(text + size, sorted[i]->value, sorted[i]->value_size);
	}
	return size;
}

static uint32_t intern(const struct cp_labels *l)
{
	const struct cp_label *sorted[CP_LABELS_MAX];
	char text[TEXT_MAX];

	return cp_labelset_add(text, join_labels(text, sorted, sort_labels(l, sorted)));
}

/* Fills KEY with the hexadecimal digits of N bytes. */
static void make_label(struct cp_label *to, const char *key, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	to->key_size = (uint8_t)strlen(key);
	memcpy(to->key, key, to->key_size);
	to->value_size = (uint8_t)(2 * n);
	for (size_t i = 0; i < n; i++) {
		to->value[2 * i] = digits[bytes[i] >> 4];
		to->value[2 * i + 1] = digits[bytes[i] & 15];
	}
}

static bool has_label(const struct cp_label *const *sorted, unsigned n,
		      const struct cp_label *label)
{
	for (unsigned i = 0; i < n; i++)
		if (!sorts_before(sorted[i], label) && !sorts_before(label, sorted[i]))
			return true;
	return false;
}

uint32_t cp_labels_traced(const struct cp_labels *l, const struct cp_trace_ids *ids)
{
	const struct cp_label *sorted[CP_LABELS_MAX + 2];
	unsigned n = sort_labels(l, sorted);
	char text[TEXT_MAX + 256];
	struct cp_label trace, span;

	make_label(&trace, CP_TRACE_LABEL, ids->trace, sizeof(ids->trace));
	make_label(&span, CP_SPAN_LABEL, ids->span, sizeof(ids->span));
	if (!has_label(sorted, n, &trace) && !has_label(sorted, n, &span)) {
		insert_label(sorted, n++, &trace);
		insert_label(sorted, n++, &span);
	}
	return cp_labelset_add_spare(text, join_labels(text, sorted, n));
}

uint32_t cp_labels_current(struct cp_labels *l)
{
	uint32_t version, set;

	if (!l)
		return CP_LABELSET_NONE;
	version = cp_load_relaxed(&l->version);
	if (version == cp_load_relaxed(&l->cached_version))
		return l->cached_set;
	set = intern(l);
	/* VERSION is odd during a change; then the set is valid only now. */
	if (version & 1)
		return set;
	/* A handler that ran in between has stored the same set. */
	cp_store_relaxed(&l->cached_set, set);
	cp_signal_fence();
	cp_store_relaxed(&l->cached_version, version);
	return set;
}

uint32_t cp_labels_of_other(const struct cp_labels *l, const struct cp_trace_ids *ids)
{
	struct cp_labels copy;
	uint32_t version;

	if (!l)
		return ids ? cp_labels_traced(NULL, ids) : CP_LABELSET_NONE;
	/* Acquire: pairs with end_change, so the labels of that version are visible. */
	version = cp_load_acquire(&l->version);
	copy.used = cp_load_relaxed(&l->used);
	memcpy(copy.label, l->label, sizeof(copy.label));
	/* Orders the copy before the second read of VERSION. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (version & 1 || cp_load_relaxed(&l->version) != version)
		return CP_LABELSET_NONE;
	return ids ? cp_labels_traced(&copy, ids) : intern(&copy);
}
