/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels of samples; see pprof.h. */
#include "output/pprof.h"

#include <errno.h>

#include "base/sys.h"
#include "base/text.h"

#define KEPT 64 /* number of cached lists */

/* Parse "k=v,...". A part without "=" is skipped. */
static void parse_labels(struct cp_row_labels *x, const char *configured)
{
	char *s = x->text;

	cp_text_format(s, sizeof(x->text), "%s", configured ? configured : "");
	x->configured_count = 0;
	while (*s && x->configured_count < CP_ROW_LABELS_CONFIGURED) {
		char *comma = strchr(s, ','), *equals;

		if (comma)
			*comma = '\0';
		equals = strchr(s, '=');
		if (equals && equals > s) {
			*equals = '\0';
			x->configured[x->configured_count++] =
				(struct cp_pprof_label){ .key = s, .text = equals + 1 };
		}
		if (!comma)
			break;
		s = comma + 1;
	}
}

int cp_row_labels_open(struct cp_row_labels *x, struct cp_pprof *w, const char *configured)
{
	memset(x->own, 0, sizeof(x->own));
	x->w = w;
	parse_labels(x, configured);
	x->kept = cp_sys_map(KEPT * sizeof(*x->kept));
	return x->kept ? 0 : -ENOMEM;
}

void cp_row_labels_close(struct cp_row_labels *x)
{
	cp_sys_unmap(x->kept, KEPT * sizeof(*x->kept));
	x->kept = NULL;
}

/* A later value of a key replaces an earlier one. */
static void put_known(struct cp_row_label_list *r, const struct cp_pprof_known *known)
{
	size_t same = 0;

	while (same < r->count && r->labels[same].key != known->key)
		same++;
	r->labels[same] = *known;
	r->count += same == r->count;
}

static void put_label(struct cp_row_labels *x, struct cp_row_label_list *r,
		      const struct cp_pprof_label *label)
{
	struct cp_pprof_known known = cp_pprof_know(x->w, label);

	put_known(r, &known);
}

static void put_thread(struct cp_row_labels *x, struct cp_row_label_list *r,
		       const struct cp_thread_label *t)
{
	/* A label with an empty value is left out, and so is its key. */
	if (t->name[0])
		put_label(x, r, &(struct cp_pprof_label){ .key = "thread", .text = t->name });
	if (t->tid)
		put_label(x, r,
			  &(struct cp_pprof_label){ .key = "tid", .number = t->tid, .unit = "" });
}

/* Add the labels that the thread set itself. */
static void put_set(struct cp_row_labels *x, struct cp_row_label_list *r, uint32_t set)
{
	size_t size, at = 0;
	const char *text = cp_labelset_text(set, &size);

	while (at < size) {
		const char *key = text + at, *value = key + strlen(key) + 1;

		put_label(x, r, &(struct cp_pprof_label){ .key = key, .text = value });
		at = (size_t)(value + strlen(value) + 1 - text);
	}
}

const struct cp_row_label_list *cp_row_labels_of(struct cp_row_labels *x, uint32_t thread,
						 const struct cp_thread_label *t, uint32_t set)
{
	struct cp_row_label_list *r = &x->kept[(thread * 31 + set) % KEPT];

	if (r->is_kept && r->thread == thread && r->set == set)
		return r;
	r->is_kept = true;
	r->thread = thread;
	r->set = set;
	r->count = 0;
	for (size_t i = 0; i < x->configured_count; i++)
		put_label(x, r, &x->configured[i]);
	put_set(x, r, set);
	if (t)
		put_thread(x, r, t);
	return r;
}

void cp_row_labels_add(struct cp_row_labels *x, const struct cp_row_label_list *common,
		       const struct cp_encode_labels *own, struct cp_row_label_list *to)
{
	to->count = common->count;
	memcpy(to->labels, common->labels, common->count * sizeof(*common->labels));
	for (unsigned i = 0; i < own->count; i++) {
		const struct cp_pprof_label *l = &own->labels[i];
		struct cp_row_label_own *o = &x->own[i];

		if (l->text) {
			put_label(x, to, l);
			continue;
		}
		if (o->key != l->key || o->unit != l->unit)
			*o = (struct cp_row_label_own){ l->key, l->unit, cp_pprof_know(x->w, l) };
		o->known.number = l->number;
		put_known(to, &o->known);
	}
}
