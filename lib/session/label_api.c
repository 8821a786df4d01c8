/* SPDX-License-Identifier: BSD-3-Clause */
/* Label functions of cprof.h for the calling thread. Ordinary context. */
#include <errno.h>
#include <string.h>

#include "session/session.h"
#include "collect/collect.h"

#define API __attribute__((visibility("default")))

_Static_assert(sizeof(((struct cprof_label_scope *)0)->before) > CP_LABEL_VALUE_MAX,
	       "a scope can keep any value");

/* Returns whether KEY is reserved: a key of the profile's own labels, or one that pprof reserves.
 * The labels of single modes (op, kind, size, wait, age) are not: programs use such words, and a
 * sample may have two labels of one key. */
static bool is_reserved(const char *key, size_t size)
{
	static const char *const reserved[] = { "thread", "tid", "bytes", "lock", "state" };

	if (size > 6)
		return !memcmp(key, "pprof::", 7);
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (*key == *reserved[i] && !strcmp(key, reserved[i]))
			return true;
	return false;
}

/* Returns the length of KEY, or -EINVAL. */
static int check_key(const char *key)
{
	size_t n = key ? strnlen(key, CP_LABEL_KEY_MAX + 1) : 0;

	return n == 0 || n > CP_LABEL_KEY_MAX || is_reserved(key, n) ? -EINVAL : (int)n;
}

/* Returns the calling thread's labels. With MAKE, creates them if needed. NULL: there are no
 * labels, or, with MAKE, no memory. */
static struct cp_labels *mine(bool make)
{
	struct cp_thread *t;

	if (make)
		cp_threads_register();
	t = cp_self.thread;
	if (!t)
		return NULL;
	if (!t->labels && make) {
		/* Release: the collector, which reads the pointer for wall samples, sees an
		 * initialized, empty struct. */
		cp_store_release(&t->labels, cp_labels_new());
		cp_mode_ops_thread_changed();
	}
	return t->labels;
}

/* Returns the length of the part of VALUE that fits, without a partial character at the end. */
static size_t cut_value(const char *value)
{
	size_t n = strnlen(value, CP_LABEL_VALUE_MAX + 1);

	if (n <= CP_LABEL_VALUE_MAX)
		return n;
	n = CP_LABEL_VALUE_MAX;
	while (n > 0 && ((unsigned char)value[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static int set_label(const char *key, size_t key_size, const char *value)
{
	size_t n = cut_value(value);
	struct cp_labels *l;
	int err;

	if (!cp_session_keeps_label(key))
		return 0;
	l = mine(true);
	if (!l)
		return -ENOMEM;
	err = cp_labels_set(l, key, key_size, value, n);
	return err ? err : value[n] ? -ENAMETOOLONG : 0;
}

API int cprof_label_set(const char *key, const char *value)
{
	int n = check_key(key), err;

	if (n < 0)
		return n;
	if (!value || !*value) {
		err = cprof_label_clear(key);
		return err == -ENOENT ? 0 : err;
	}
	err = set_label(key, (size_t)n, value);
	if (err)
		cp_count(CP_COUNT_LABELS_REFUSED, 1);
	return err;
}

API int cprof_label_clear(const char *key)
{
	int n = check_key(key);
	struct cp_labels *l = mine(false);

	if (n < 0)
		return n;
	return l ? cp_labels_clear(l, key, (size_t)n) : -ENOENT;
}

API void cprof_labels_clear(void)
{
	struct cp_labels *l = mine(false);

	if (l)
		cp_labels_clear_all(l);
}

API int cprof_label_get(const char *key, char *value, size_t size)
{
	int n = check_key(key);
	struct cp_labels *l = mine(false);
	const struct cp_label *label;

	if (n < 0)
		return n;
	label = l ? cp_labels_find(l, key, (size_t)n) : NULL;
	if (!label)
		return -ENOENT;
	if (label->value_size >= size)
		return -ENOSPC;
	memcpy(value, label->value, label->value_size);
	value[label->value_size] = '\0';
	return label->value_size;
}

API int cprof_labels_inherit(int on)
{
	struct cp_labels *l = mine(on != 0);

	if (!l)
		return on ? -ENOMEM : 0;
	l->inherit = on != 0;
	return 0;
}

API struct cprof_label_scope cprof_label_scope_begin(const char *key, const char *value)
{
	struct cprof_label_scope s = { .key = key };

	s.had = cprof_label_get(key, s.before, sizeof(s.before)) >= 0;
	cprof_label_set(key, value);
	return s;
}

API void cprof_label_scope_end(struct cprof_label_scope *scope)
{
	cprof_label_set(scope->key, scope->had ? scope->before : NULL);
}
