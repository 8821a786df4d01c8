/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes aggregated samples as pprof; see pprof.h. */

#include <errno.h>

#include "output/output.h"
#include "base/text.h"

#define DEPTH_MAX 4097
/* Number of rows ahead for which data is fetched: so far that memory has answered. A stack is
 * fetched before its locations. */
#define FETCH 64
#define FETCH_DEPTH 64
#define LINE 16 /* locations in a cache line */

struct used_mapping {
	uint32_t number;
	bool has_functions; /* some location to be written has a name */
};

struct writing {
	struct cp_aggregate *a;
	struct cp_names *n;
	const struct cp_profile_info *info;
	struct cp_pprof w;
	struct cp_vec threads;	    /* uint32_t: thread -> canonical thread */
	struct cp_vec location_ids; /* one uint64_t per location; 0 = not used */
	struct cp_vec function_ids; /* one uint64_t per function */
	struct cp_vec mapping_ids;  /* one uint64_t per mapping */
	struct cp_vec used;	    /* struct used_mapping, by id - 1; room for all mappings */
	struct cp_rows rows;
	struct cp_index function_index;		 /* functions that were written, by name */
	uint64_t locations, functions, mappings; /* numbers of ids handed out */
	struct cp_row_labels labels;
	struct cp_times_rows times_rows;
	uint64_t samples; /* written so far */
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

static int make_ids(struct cp_vec *v, size_t n)
{
	return cp_vec_extend(v, n) ? 0 : -ENOMEM;
}

/* Returns mapping NUMBER as it is written; the first call gives it an id. */
static struct used_mapping *use_mapping(struct writing *x, uint32_t number)
{
	uint64_t *id = CP_VEC_AT(&x->mapping_ids, uint64_t, number);
	struct used_mapping *used;

	if (!*id)
		*id = ++x->mappings;
	used = CP_VEC_AT(&x->used, struct used_mapping, *id - 1);
	used->number = number;
	return used;
}

/* pprof names the profile after its first mapping, so this one is written even if no sample hit it.
 */
static void use_main_mapping(struct writing *x)
{
	for (uint32_t i = 0; i < x->a->modules->mappings.count; i++)
		if (cp_modules_at(x->a->modules, i)->main) {
			use_mapping(x, i);
			return;
		}
}

static void write_mapping(struct writing *x, uint64_t id)
{
	const struct used_mapping *used = CP_VEC_AT(&x->used, struct used_mapping, id - 1);
	const struct cp_mapping *m = cp_modules_at(x->a->modules, used->number);
	char build_id[2 * CP_BUILD_ID_MAX + 1] = "";
	struct cp_pprof_mapping out = {
		.start = m->start,
		.limit = m->limit,
		.offset = m->offset,
		.path = m->path,
		.build_id = build_id,
		.has_functions = used->has_functions,
	};

	for (unsigned i = 0; i < m->build_id_size; i++)
		cp_text_format(build_id + 2 * i, 3, "%02x", m->build_id[i]);
	cp_pprof_mapping(&x->w, id, &out);
}

/* Mappings come after the locations: not every location that has a name is written, and a mapping
 * says whether one of those that are written has one. */
static void write_mappings(struct writing *x)
{
	for (uint64_t id = 1; id <= x->mappings; id++)
		write_mapping(x, id);
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

/* Returns the id of a function with the same names that was already written, as two modules may
 * have. Without files and lines, nothing in the profile would distinguish the two functions; their
 * locations do. */
static uint64_t find_namesake(struct writing *x, uint32_t number)
{
	const struct cp_function *f = function_at(x, number);
	uint32_t hash = cp_index_hash(f->system_name, strlen(f->system_name));
	uint32_t item = cp_index_find(&x->function_index, hash, same_names, f, x);

	if (item != CP_INDEX_NONE)
		return *CP_VEC_AT(&x->function_ids, uint64_t, item);
	/* If there is no memory, the function is written twice, which is harmless. */
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
		use_mapping(x, l->mapping)->has_functions |=
			l->function && function_at(x, l->function)->has_symbol;
		mapping = *CP_VEC_AT(&x->mapping_ids, uint64_t, l->mapping);
	}
	if (l->function)
		line.function_id = write_function(x, l->function);
	*id = ++x->locations;
	cp_pprof_location(&x->w, *id, mapping, l->address, &line, l->function != 0);
	return *id;
}

/* Do two rows have the same stack and the same (tid, name)? Threads that got the same tid one after
 * the other, with the same name, become one row. */
static bool same_row(const struct writing *x, const struct cp_row *k, const struct cp_row *r)
{
	const struct cp_stack *a = stack_at(x, k->stack), *b = stack_at(x, r->stack);

	return r->thread == k->thread && a->tag == b->tag && a->labels == b->labels &&
	       a->depth == b->depth &&
	       !memcmp(a->locations, b->locations, a->depth * sizeof(*a->locations));
}

/* Sum up FIRST and the rows like it up to END, which then have no stack. VALUES are in the file's
 * units. Returns false if all values are 0, which no sample may have. */
static bool sum_rows(struct writing *x, struct cp_row *first, struct cp_row *end, int64_t *values)
{
	unsigned n = x->info->type_count, more = x->info->more_count;
	uint64_t further[CP_ENCODE_MORE];
	bool any = false;

	memset(values, 0, (n + more) * sizeof(*values));
	for (struct cp_row *r = first; r < end; r++) {
		if (r != first && (r->stack == CP_INDEX_NONE || !same_row(x, first, r)))
			continue;
		cp_write_times_row(&x->times_rows, r->stack, first->stack);
		for (unsigned v = 0; v < n; v++)
			values[v] += cp_aggregate_since(x->a, r->stack, v, x->info->base);
		if (more)
			x->info->more_values(x->info->context, r->stack, further);
		for (unsigned v = 0; v < more; v++)
			values[n + v] += (int64_t)further[v];
		if (r != first)
			r->stack = CP_INDEX_NONE;
	}
	for (unsigned v = 0; v < n + more; v++)
		any |= values[v] != 0;
	return any;
}

static void write_row(struct writing *x, struct cp_row *first, struct cp_row *end)
{
	const struct cp_stack *s = stack_at(x, first->stack);
	const struct cp_thread_label *t;
	const struct cp_row_label_list *labels;
	struct cp_encode_labels own;
	struct cp_row_label_list with_own;
	int64_t values[CP_VALUES + CP_ENCODE_MORE];
	uint64_t ids[DEPTH_MAX];

	if (!sum_rows(x, first, end, values))
		return;
	for (uint32_t i = 0; i < s->depth; i++)
		ids[i] = write_location(x, s->locations[i]);
	t = first->thread == CP_NO_THREAD ? NULL : thread_at(x, first->thread);
	labels = cp_row_labels_of(&x->labels, first->thread, t, s->labels);
	own.count = 0;
	if (x->info->row_labels)
		x->info->row_labels(x->info->context, s, &own);
	if (own.count) {
		cp_row_labels_add(&x->labels, labels, &own, &with_own);
		labels = &with_own;
	}
	cp_pprof_sample(&x->w, ids, s->depth, values, labels->labels, labels->count);
	cp_write_times_sample(&x->times_rows, first->stack, ++x->samples);
}

/* Rows are in another order in memory, so each row causes two cache misses, one after the other.
 * The misses of many rows at once take as long as those of one. These are loads, because a prefetch
 * is dropped if the address's translation isn't cached, either, and it hardly ever is. */
static void fetch(const struct writing *x, const struct cp_row *row, const struct cp_row *end)
{
	uint64_t any = 0;

	for (const struct cp_row *r = row; r < end; r++) {
		const struct cp_stack *s = stack_at(x, r->stack);

		any += s->depth + s->values[CP_VALUES - 1];
		if (r->stack < x->a->aside.count)
			any += *(const uint64_t *)((const char *)x->a->aside.items +
						   r->stack * x->a->aside.size);
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
	struct cp_row *limit, *fetched = x->rows.items, *end;

	if (!x->rows.count)
		return;
	limit = x->rows.items + x->rows.count;
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

/* pprof prints the comments above each table, except those that begin with #: these are shown only
 * on request (-comments). */
static void write_comments(struct writing *x)
{
	char line[CP_COMMENTS_LINE + 2];

	for (unsigned i = 0; i < x->info->comment_count; i++) {
		cp_text_format(line, sizeof(line), "# %s", x->info->comments[i]);
		cp_pprof_comment(&x->w, line);
	}
}

static void write_all(struct writing *x, struct cp_sink *sink)
{
	const struct cp_profile_info *info = x->info;
	struct cp_pprof_head head = {
		.sample_types = info->types,
		.sample_type_count = info->type_count + info->more_count,
		.period_type = info->period_type,
		.drop_frames = info->drop_frames,
		.default_sample_type =
			info->types[(info->default_type ? info->default_type : info->type_count) -
				    1]
				.type,
		.period = (int64_t)info->period,
		.time_nanos = (int64_t)info->time_ns,
		.duration_nanos = (int64_t)info->duration_ns,
	};

	cp_pprof_open(&x->w, sink, &head);
	use_main_mapping(x);
	write_rows(x);
	write_mappings(x);
	write_comments(x);
	if (info->times)
		cp_write_times(&x->w, info->times, x->a, &x->times_rows, x->samples);
}

int cp_encode_write(struct cp_aggregate *a, struct cp_names *n, const struct cp_profile_info *info,
		    struct cp_sink *sink)
{
	struct writing x = { .a = a,
			     .n = n,
			     .info = info,
			     .threads = { .size = sizeof(uint32_t) },
			     .location_ids = { .size = sizeof(uint64_t) },
			     .function_ids = { .size = sizeof(uint64_t) },
			     .mapping_ids = { .size = sizeof(uint64_t) },
			     .used = { .size = sizeof(struct used_mapping) },
			     .times_rows = { { .size = sizeof(struct cp_times_row) } } };
	int err = cp_row_labels_open(&x.labels, &x.w, info->labels);

	if (!err)
		err = unify_threads(&x);
	if (!err)
		err = cp_rows_order(&x.rows, a, x.threads.items, info->base, info->type_count);
	if (!err)
		err = make_ids(&x.location_ids, a->locations.count);
	if (!err)
		err = make_ids(&x.function_ids, n->functions.count);
	if (!err)
		err = make_ids(&x.mapping_ids, a->modules->mappings.count);
	if (!err)
		err = make_ids(&x.used, a->modules->mappings.count);
	/* Without memory the file has no times. */
	if (!err && info->times)
		cp_vec_extend(&x.times_rows.rows, a->stacks.count);
	if (!err) {
		write_all(&x, sink);
		err = cp_pprof_close(&x.w);
	}
	cp_vec_release(&x.threads);
	cp_vec_release(&x.location_ids);
	cp_vec_release(&x.function_ids);
	cp_vec_release(&x.mapping_ids);
	cp_vec_release(&x.used);
	cp_vec_release(&x.times_rows.rows);
	cp_rows_release(&x.rows);
	cp_row_labels_close(&x.labels);
	cp_index_release(&x.function_index);
	return err;
}
