/* Aggregated samples to pprof; see profile.h. */
#include "profile.h"

#include <errno.h>
#include <string.h>

#include "pprof.h"
#include "rows.h"
#include "sigsafe/labels.h"
#include "sigsafe/labelset.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"

#define LABELS_MAX 16 /* of CPROF_LABELS */
#define DEPTH_MAX 4097
#define KEPT 64 /* sets of labels that are at hand */
#define NOT_KEPT SIZE_MAX
/* Rows ahead: far enough that memory has answered, a stack before its locations. */
#define FETCH 64
#define FETCH_DEPTH 64
#define LINE 16 /* locations in a cache line */

struct row_labels {
	uint32_t thread, set; /* whose */
	size_t count;
	struct cp_pprof_known labels[2 + LABELS_MAX + CP_LABELS_MAX + CP_ROW_LABELS];
};

/* A label that a row has by itself, a number. */
struct own_label {
	const char *key, *unit;
	struct cp_pprof_known known;
};

struct writing {
	struct cp_aggregate *a;
	struct cp_names *n;
	const struct cp_profile_info *info;
	struct cp_pprof w;
	struct cp_vec threads;	    /* uint32_t: thread -> canonical thread */
	struct cp_vec location_ids; /* uint64_t a location; 0 = not used */
	struct cp_vec function_ids; /* uint64_t a function */
	struct cp_vec mapping_ids;  /* uint64_t a mapping */
	struct cp_rows rows;
	struct cp_index function_index;		  /* of those written, by name */
	uint64_t locations, functions, mappings;  /* ids handed out */
	struct cp_pprof_label labels[LABELS_MAX]; /* CPROF_LABELS */
	size_t label_count;
	char label_text[1024];
	struct own_label own[CP_ROW_LABELS]; /* the row's before this one */
	struct row_labels *kept;	     /* KEPT of them */
};

static struct cp_thread_label *thread_at(const struct writing *x, uint32_t i)
{
	return CP_VEC_AT(&x->a->threads, struct cp_thread_label, i);
}

static bool same_thread(uint32_t item, const void *key, const void *context)
{
	const struct cp_thread_label *k = key, *l = thread_at(context, item);

	return l->tid == k->tid && !strcmp(l->name, k->name);
}

static int unify_threads(struct writing *x)
{
	struct cp_index index = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < x->a->threads.count && !err; i++) {
		const struct cp_thread_label *l = thread_at(x, i);
		uint32_t hash = cp_index_hash(l, sizeof(*l));
		uint32_t same = cp_index_find(&index, hash, same_thread, l, x);
		uint32_t *slot = cp_vec_add(&x->threads);

		if (same == CP_INDEX_NONE)
			err = cp_index_add(&index, hash, i);
		if (!slot)
			err = -ENOMEM;
		else
			*slot = same == CP_INDEX_NONE ? i : same;
	}
	cp_index_release(&index);
	return err;
}

static const struct cp_stack *stack_at(const struct writing *x, uint32_t i)
{
	return CP_VEC_AT(&x->a->stacks, struct cp_stack, i);
}

static int make_kept(struct writing *x)
{
	x->kept = cp_sys_map(KEPT * sizeof(*x->kept));
	for (unsigned i = 0; x->kept && i < KEPT; i++)
		x->kept[i].count = NOT_KEPT;
	return x->kept ? 0 : -ENOMEM;
}

static int make_ids(struct cp_vec *v, size_t n)
{
	while (v->count < n)
		if (!cp_vec_add(v))
			return -ENOMEM;
	return 0;
}

static void write_mapping(struct writing *x, uint32_t number)
{
	const struct cp_mapping *m = cp_modules_at(x->a->modules, number);
	uint64_t *id = CP_VEC_AT(&x->mapping_ids, uint64_t, number);
	char build_id[2 * CP_BUILD_ID_MAX + 1] = "";
	struct cp_pprof_mapping out = {
		.start = m->start,
		.limit = m->limit,
		.offset = m->offset,
		.path = m->path,
		.build_id = build_id,
		.has_functions = *CP_VEC_AT(&x->n->has_functions, uint8_t, number) != 0,
	};

	if (*id)
		return;
	for (unsigned i = 0; i < m->build_id_size; i++)
		cp_format(build_id + 2 * i, 3, "%02x", m->build_id[i]);
	*id = ++x->mappings;
	cp_pprof_mapping(&x->w, *id, &out);
}

/* pprof names the profile after its first mapping, also when no sample hit it. */
static void write_main_mapping(struct writing *x)
{
	for (uint32_t i = 0; i < x->a->modules->mappings.count; i++)
		if (cp_modules_at(x->a->modules, i)->main) {
			write_mapping(x, i);
			return;
		}
}

static const struct cp_function *function_at(const struct writing *x, uint32_t number)
{
	return CP_VEC_AT(&x->n->functions, struct cp_function, number);
}

static bool same_names(uint32_t item, const void *key, const void *context)
{
	const struct cp_function *k = key, *f = function_at(context, item);

	return !strcmp(f->name, k->name) && !strcmp(f->system_name, k->system_name);
}

/* A function of the same names that was written before, as two modules may have: without files and
 * lines nothing in the profile would tell them apart, and their locations do. */
static uint64_t find_namesake(struct writing *x, uint32_t number)
{
	const struct cp_function *f = function_at(x, number);
	uint32_t hash = cp_index_hash(f->system_name, strlen(f->system_name));
	uint32_t item = cp_index_find(&x->function_index, hash, same_names, f, x);

	if (item != CP_INDEX_NONE)
		return *CP_VEC_AT(&x->function_ids, uint64_t, item);
	/* Without memory it is written twice, which is no harm. */
	(void)cp_index_add(&x->function_index, hash, number);
	return 0;
}

static uint64_t write_function(struct writing *x, uint32_t number)
{
	const struct cp_function *f = function_at(x, number);
	uint64_t *id = CP_VEC_AT(&x->function_ids, uint64_t, number);
	struct cp_pprof_function out = { .name = f->name,
					 .system_name = f->system_name,
					 .filename = "" };

	if (!*id)
		*id = find_namesake(x, number);
	if (!*id) {
		*id = ++x->functions;
		cp_pprof_function(&x->w, *id, &out);
	}
	return *id;
}

static uint64_t write_location(struct writing *x, uint32_t number)
{
	const struct cp_location *l = CP_VEC_AT(&x->a->locations, struct cp_location, number);
	uint64_t *id = CP_VEC_AT(&x->location_ids, uint64_t, number);
	struct cp_pprof_line line = { 0 };
	uint64_t mapping = 0;

	if (*id)
		return *id;
	if (l->mapping != CP_NO_MAPPING) {
		write_mapping(x, l->mapping);
		mapping = *CP_VEC_AT(&x->mapping_ids, uint64_t, l->mapping);
	}
	if (l->function)
		line.function_id = write_function(x, l->function);
	*id = ++x->locations;
	cp_pprof_location(&x->w, *id, mapping, l->address, &line, l->function != 0);
	return *id;
}

/* Samples of one stack and one (tid, name): threads that got the same tid one after the other, with
 * the same name, become one row. */
static bool same_row(const struct writing *x, const struct cp_row *k, const struct cp_row *r)
{
	const struct cp_stack *a = stack_at(x, k->stack), *b = stack_at(x, r->stack);

	return r->thread == k->thread && a->tag == b->tag && a->labels == b->labels &&
	       a->depth == b->depth &&
	       !memcmp(a->locations, b->locations, a->depth * sizeof(*a->locations));
}

/* The sum of FIRST and of those like it up to END, which then stand for no stack. As the values
 * stand in the file. false: all are 0, which no sample may be. */
static bool sum_rows(const struct writing *x, struct cp_row *first, struct cp_row *end,
		     int64_t *values)
{
	unsigned n = x->info->type_count;
	bool any = false;

	memset(values, 0, n * sizeof(*values));
	for (struct cp_row *r = first; r < end; r++) {
		if (r != first && (r->stack == CP_INDEX_NONE || !same_row(x, first, r)))
			continue;
		for (unsigned v = 0; v < n; v++)
			values[v] += (int64_t)stack_at(x, r->stack)->values[v];
		if (r != first)
			r->stack = CP_INDEX_NONE;
	}
	for (unsigned v = 0; v < n; v++)
		any |= values[v] != 0;
	values[n - 1] *= (int64_t)x->info->weight_unit;
	return any;
}

/* One value a key: a later one takes an earlier one's place. */
static void put_known(struct row_labels *r, const struct cp_pprof_known *known)
{
	size_t same = 0;

	while (same < r->count && r->labels[same].key != known->key)
		same++;
	r->labels[same] = *known;
	r->count += same == r->count;
}

static void put_label(struct writing *x, struct row_labels *r, const struct cp_pprof_label *label)
{
	struct cp_pprof_known known = cp_pprof_know(&x->w, label);

	put_known(r, &known);
}

static void put_thread(struct writing *x, struct row_labels *r, const struct cp_thread_label *t)
{
	/* No value is no label, and its key no string of the file. */
	if (t->name[0])
		put_label(x, r, &(struct cp_pprof_label){ .key = "thread", .text = t->name });
	if (t->tid)
		put_label(x, r,
			  &(struct cp_pprof_label){ .key = "tid", .number = t->tid, .unit = "" });
}

/* What the thread had set by itself. */
static void put_set(struct writing *x, struct row_labels *r, uint32_t set)
{
	size_t size, at = 0;
	const char *text = cp_labelset_text(set, &size);

	while (at < size) {
		const char *key = text + at, *value = key + strlen(key) + 1;

		put_label(x, r, &(struct cp_pprof_label){ .key = key, .text = value });
		at = (size_t)(value + strlen(value) + 1 - text);
	}
}

/* Those that all rows of a thread and a set of labels have in common: made once for many rows. */
static const struct row_labels *labels_of(struct writing *x, uint32_t thread, uint32_t set)
{
	struct row_labels *r = &x->kept[(thread * 31 + set) % KEPT];

	if (r->count != NOT_KEPT && r->thread == thread && r->set == set)
		return r;
	r->thread = thread;
	r->set = set;
	r->count = 0;
	for (size_t i = 0; i < x->label_count; i++)
		put_label(x, r, &x->labels[i]);
	put_set(x, r, set);
	if (thread != CP_NO_THREAD)
		put_thread(x, r, thread_at(x, thread));
	return r;
}

/* LABELS and, in place of those of their keys, OWN: in TO. */
static void add_own(struct writing *x, const struct row_labels *labels,
		    const struct cp_profile_labels *own, struct row_labels *to)
{
	to->count = labels->count;
	memcpy(to->labels, labels->labels, labels->count * sizeof(*labels->labels));
	for (unsigned i = 0; i < own->count; i++) {
		const struct cp_pprof_label *l = &own->labels[i];
		struct own_label *o = &x->own[i];

		if (l->text) {
			put_label(x, to, l);
			continue;
		}
		if (o->key != l->key || o->unit != l->unit)
			*o = (struct own_label){ l->key, l->unit, cp_pprof_know(&x->w, l) };
		o->known.number = l->number;
		put_known(to, &o->known);
	}
}

static void write_row(struct writing *x, struct cp_row *first, struct cp_row *end)
{
	const struct cp_stack *s = stack_at(x, first->stack);
	const struct row_labels *labels;
	struct cp_profile_labels own;
	struct row_labels with_own;
	int64_t values[CP_VALUES];
	uint64_t ids[DEPTH_MAX];

	if (!sum_rows(x, first, end, values))
		return;
	for (uint32_t i = 0; i < s->depth; i++)
		ids[i] = write_location(x, s->locations[i]);
	labels = labels_of(x, first->thread, s->labels);
	own.count = 0;
	if (x->info->row_labels)
		x->info->row_labels(x->info->context, s, &own);
	if (own.count) {
		add_own(x, labels, &own, &with_own);
		labels = &with_own;
	}
	cp_pprof_sample(&x->w, ids, s->depth, values, labels->labels, labels->count);
}

/* In memory rows are in another order, so each is two waits for memory, one after the other. Those
 * of many rows at once take as long as one. Loads, because prefetches are dropped where the address
 * isn't at hand, either, which it hardly ever is. */
static void fetch(const struct writing *x, const struct cp_row *row, const struct cp_row *end)
{
	uint64_t any = 0;

	for (const struct cp_row *r = row; r < end; r++) {
		const struct cp_stack *s = stack_at(x, r->stack);

		any += s->depth + s->values[CP_VALUES - 1];
	}
	for (const struct cp_row *r = row; r < end; r++) {
		const struct cp_stack *s = stack_at(x, r->stack);

		for (uint32_t at = 0; at < s->depth && at < FETCH_DEPTH; at += LINE)
			any += s->locations[at];
		any += s->locations[s->depth - 1];
	}
	__asm__ volatile("" : : "r"(any));
}

static void write_rows(struct writing *x)
{
	struct cp_row *limit = x->rows.items + x->rows.count, *fetched = x->rows.items, *end;

	for (struct cp_row *first = x->rows.items; first < limit; first = end) {
		if (first >= fetched) {
			fetched = limit - first > FETCH ? first + FETCH : limit;
			fetch(x, first, fetched);
		}
		end = first + 1;
		while (end < limit && end->key == first->key)
			end++;
		for (struct cp_row *r = first; r < end; r++)
			if (r->stack != CP_INDEX_NONE)
				write_row(x, r, end);
	}
}

/* "k=v,...". A part without "=" is passed over. */
static void parse_labels(struct writing *x)
{
	char *s = x->label_text;

	cp_format(s, sizeof(x->label_text), "%s", x->info->labels ? x->info->labels : "");
	x->label_count = 0;
	while (*s && x->label_count < LABELS_MAX) {
		char *comma = strchr(s, ','), *equals;

		if (comma)
			*comma = '\0';
		equals = strchr(s, '=');
		if (equals && equals > s) {
			*equals = '\0';
			x->labels[x->label_count++] =
				(struct cp_pprof_label){ .key = s, .text = equals + 1 };
		}
		if (!comma)
			break;
		s = comma + 1;
	}
}

static void write_all(struct writing *x, struct cp_sink *sink)
{
	const struct cp_profile_info *info = x->info;
	struct cp_pprof_head head = {
		.sample_types = info->types,
		.sample_type_count = info->type_count,
		.period_type = info->period_type,
		.default_sample_type = info->types[info->type_count - 1].type,
		.period = (int64_t)info->period,
		.time_nanos = (int64_t)info->time_ns,
		.duration_nanos = (int64_t)info->duration_ns,
	};

	cp_pprof_open(&x->w, sink, &head);
	write_main_mapping(x);
	write_rows(x);
	for (unsigned i = 0; i < info->comment_count; i++)
		cp_pprof_comment(&x->w, info->comments[i]);
}

int cp_profile_write(struct cp_aggregate *a, struct cp_names *n, const struct cp_profile_info *info,
		     struct cp_sink *sink)
{
	struct writing x = { .a = a,
			     .n = n,
			     .info = info,
			     .threads = { .size = sizeof(uint32_t) },
			     .location_ids = { .size = sizeof(uint64_t) },
			     .function_ids = { .size = sizeof(uint64_t) },
			     .mapping_ids = { .size = sizeof(uint64_t) } };
	int err = make_kept(&x);

	if (!err)
		err = unify_threads(&x);
	if (!err)
		err = cp_rows_order(&x.rows, a, x.threads.items);
	if (!err)
		err = make_ids(&x.location_ids, a->locations.count);
	if (!err)
		err = make_ids(&x.function_ids, n->functions.count);
	if (!err)
		err = make_ids(&x.mapping_ids, a->modules->mappings.count);
	if (!err) {
		parse_labels(&x);
		write_all(&x, sink);
		err = cp_pprof_close(&x.w);
	}
	cp_vec_release(&x.threads);
	cp_vec_release(&x.location_ids);
	cp_vec_release(&x.function_ids);
	cp_vec_release(&x.mapping_ids);
	cp_rows_release(&x.rows);
	cp_sys_unmap(x.kept, KEPT * sizeof(*x.kept));
	cp_index_release(&x.function_index);
	return err;
}
