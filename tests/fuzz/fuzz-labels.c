/* SPDX-License-Identifier: BSD-3-Clause */
/* Any sequence of a program's calls for labels, beside a plain list of what should be there; and
 * the sets that samples would carry.
 */
#include <stddef.h>

#include "system.h"
#include "sample/thread.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pair {
	const char *key, *value;
	size_t key_size, value_size;
};

static struct pair list[CP_LABELS_MAX];
static size_t count;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static size_t find(const char *key, size_t n)
{
	size_t i = 0;

	while (i < count && (list[i].key_size != n || memcmp(list[i].key, key, n) != 0))
		i++;
	return i;
}

static void set(struct cp_labels *l, const struct pair *p)
{
	size_t i = find(p->key, p->key_size);
	int err = cp_labels_set(l, p->key, p->key_size, p->value, p->value_size);

	check(err == (i == CP_LABELS_MAX ? -ENOSPC : 0));
	if (err)
		return;
	list[i] = *p;
	count += i == count;
}

static void clear(struct cp_labels *l, const struct pair *p)
{
	size_t i = find(p->key, p->key_size);

	check(cp_labels_clear(l, p->key, p->key_size) == (i == count ? -ENOENT : 0));
	if (i < count)
		list[i] = list[--count];
}

static void compare(const struct cp_labels *l)
{
	for (size_t i = 0; i < count; i++) {
		const struct cp_label *label = cp_labels_find(l, list[i].key, list[i].key_size);

		check(label && label->value_size == list[i].value_size &&
		      !memcmp(label->value, list[i].value, list[i].value_size));
	}
}

/* Whole pairs, by key, as many as there are. */
static void look_at_set(struct cp_labels *l)
{
	uint32_t set = cp_labels_current(l);
	const char *text, *last = NULL;
	size_t size, pairs = 0;

	check(set == cp_labels_of_other(l, NULL) || set == CP_LABELSET_LOST);
	if (set == CP_LABELSET_LOST)
		return;
	text = cp_labelset_text(set, &size);
	for (size_t at = 0; at < size; pairs++) {
		const char *key = text + at;

		check(!last || strcmp(last, key) < 0);
		last = key;
		at += strlen(key) + 1;
		check(at < size);
		at += strlen(text + at) + 1;
		check(at <= size);
	}
	check(pairs == count);
}

/* Without a NUL, as callers pass it; at most LIMIT bytes, taken from the input. */
static const char *take(const uint8_t **data, size_t *left, size_t limit, size_t *size)
{
	const char *text = (const char *)*data + 1;
	size_t n = *left ? **data % (limit + 1) : 0;

	if (*left)
		--*left;
	n = n < *left ? n : *left;
	n = strnlen(text, n);
	*size = n;
	*data += n + 1;
	*left -= n;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cp_labels *l = cp_labels_new(), *copy;

	count = 0;
	while (l && size > 2) {
		uint8_t what = *data++;
		struct pair p;

		size--;
		p.key = take(&data, &size, CP_LABEL_KEY_MAX, &p.key_size);
		if (!p.key_size)
			continue;
		if (what % 4 == 0) {
			clear(l, &p);
		} else if (what == 255) {
			cp_labels_clear_all(l);
			count = 0;
		} else {
			if (!size)
				break;
			p.value = take(&data, &size, CP_LABEL_VALUE_MAX, &p.value_size);
			set(l, &p);
		}
		compare(l);
	}
	if (l) {
		look_at_set(l);
		copy = cp_labels_clone(l);
		if (copy)
			compare(copy);
		cp_labels_free(copy);
		cp_labels_free(l);
	}
	return 0;
}
