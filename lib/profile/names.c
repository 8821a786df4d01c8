/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for locations; see profile.h. */
#include "profile/profile.h"

#include <errno.h>

#include "symbols/demangle.h"
#include "base/sys.h"
#include "base/text.h"

#define NAME_MAX_BYTES (16 << 10)

/* The most dumps that retry reading a file. Each retry stores the other names once more. */
#define REREADINGS_MAX 8u

/* The synthetic function that follows those of the special frames. */
#define FUNCTION_UNKNOWN (CP_LOCATION_FIRST + 1)
/* The next synthetic function, for addresses that the kernel gives no name for. */
#define FUNCTION_KERNEL (CP_LOCATION_FIRST + 2)

struct function_key {
	const char *path;
	uint64_t start;
};

void cp_names_init(struct cp_names *n)
{
	*n = (struct cp_names){ .functions = { .size = sizeof(struct cp_function) },
				.mappings = { .size = sizeof(struct cp_names_mapping) } };
}

static bool same_function(uint32_t item, const void *key, const void *context)
{
	const struct cp_names *n = context;
	const struct function_key *k = key;
	const struct cp_function *f = CP_VEC_AT(&n->functions, struct cp_function, item);

	return f->start == k->start && f->path && k->path && !strcmp(f->path, k->path);
}

static struct cp_function *add_function(struct cp_names *n, uint32_t *number)
{
	struct cp_function *f;

	/* Number 0 is unused. */
	if (!n->functions.count && !cp_vec_add(&n->functions))
		return NULL;
	f = cp_vec_add(&n->functions);
	*number = f ? (uint32_t)(n->functions.count - 1) : 0;
	return f;
}

/* Returns NAME demangled, in the arena; NAME itself if it isn't mangled. */
static const char *readable(struct cp_names *n, const char *name)
{
	size_t length = n->buffer ? cp_demangle(name, n->buffer, NAME_MAX_BYTES) : 0;
	const char *copy = length ? cp_arena_text(&n->arena, n->buffer, length) : NULL;

	return copy ? copy : name;
}

/* Returns "libfoo.so.1+0x1234", in the arena. */
static const char *module_plus(struct cp_names *n, const char *path, uint64_t address)
{
	const char *slash = strrchr(path, '/');
	char text[512];
	size_t length;

	if (slash && slash[1] && path[1] != '/')
		path = slash + 1;
	length = cp_text_format(text, sizeof(text), "%s+0x%lx", path, (unsigned long)address);
	return cp_arena_text(&n->arena, text, length);
}

/* Sets F's names: NAME, or if it is NULL the module and ADDRESS. Returns 0, or -ENOMEM with F
 * unchanged. */
static int call(struct cp_names *n, struct cp_function *f, const char *name, uint64_t address)
{
	const char *shown = name ? readable(n, name) : module_plus(n, f->path, address);

	if (!shown)
		return -ENOMEM;
	f->system_name = name ? name : shown;
	f->name = shown;
	f->has_symbol = name != NULL;
	return 0;
}

/* Returns the number of the function of the module at PATH that starts at file offset START, or 0
 * without memory. If NAME is NULL there is no symbol, and the function is named after ADDRESS, its
 * place as the file has it. */
static uint32_t function_of(struct cp_names *n, const char *path, uint64_t start, const char *name,
			    uint64_t address)
{
	struct function_key key = { path, start };
	uint32_t hash = cp_index_hash(path, strlen(path)) ^ cp_index_hash(&start, sizeof(start));
	uint32_t number = cp_index_find(&n->index, hash, same_function, &key, n);
	struct cp_function *f;

	if (number != CP_INDEX_NONE) {
		f = CP_VEC_AT(&n->functions, struct cp_function, number);
		/* Last time there was no memory for its symbol's name. */
		if (name && !f->has_symbol)
			call(n, f, name, address);
		return number;
	}
	f = add_function(n, &number);
	if (!f)
		return 0;
	f->path = path;
	f->start = start;
	if (!call(n, f, name, address) && cp_index_add(&n->index, hash, number) >= 0)
		return number;
	n->functions.count--;
	return 0;
}

/* Makes a function without code, which explains something in a stack. Returns its number, or 0. */
static uint32_t synthetic(struct cp_names *n, const char *text)
{
	uint32_t number;
	struct cp_function *f = add_function(n, &number);

	if (!f)
		return 0;
	f->name = f->system_name = text;
	f->has_symbol = true;
	f->start = UINT64_MAX; /* so that (path, start) never finds it again */
	return number;
}

static const struct cp_symbol_query *answer(const struct cp_vec *queries, uint64_t offset)
{
	size_t i = cp_sort_first(queries->items, queries->count, queries->size, offset);
	const struct cp_symbol_query *q = CP_VEC_AT(queries, struct cp_symbol_query, i);

	return i < queries->count && q->offset == offset ? q : NULL;
}

/* The mapping for code that was unmapped since, as JITs do; only its announcement names it. */
static const struct cp_mapping nowhere = { .path = "[unknown]", .anonymous = true };

static const struct cp_mapping *mapping_at(const struct cp_aggregate *a, uint32_t mapping)
{
	return mapping == CP_NO_MAPPING ? &nowhere : cp_modules_at(a->modules, mapping);
}

/* Returns whether the code is in no file, because it was made at run time. */
static bool is_anonymous(const struct cp_mapping *m)
{
	return m->anonymous && !m->vdso;
}

/* Returns L's offset in its module's file. Code in no file keeps its address, because two areas of
 * a JIT are different. */
static uint64_t file_offset(const struct cp_mapping *m, const struct cp_location *l)
{
	return is_anonymous(m) ? l->address : l->address - m->start + m->offset;
}

/* Returns the function for a location with OFFSET. Q is the location's answer, or NULL. */
static uint32_t choose_offset(struct cp_names *n, const struct cp_mapping *m, uint64_t offset,
			      const struct cp_symbol_query *q)
{
	if (q && q->name)
		return function_of(n, m->path, q->start, q->name, 0);
	if (m == &nowhere)
		return FUNCTION_UNKNOWN;
	if (m->kernel)
		return FUNCTION_KERNEL;
	return function_of(n, m->path, q && q->start ? q->start : offset, NULL,
			   q && q->address ? q->address : offset);
}

static struct cp_names_mapping *of_mapping(const struct cp_names *n, uint32_t mapping)
{
	return CP_VEC_AT(&n->mappings, struct cp_names_mapping, mapping);
}

static void set_functions(struct cp_names *n, struct cp_aggregate *a, uint32_t mapping,
			  const struct cp_vec *queries)
{
	const struct cp_mapping *m = mapping_at(a, mapping);

	for (uint32_t i = n->done; i < a->locations.count; i++) {
		struct cp_location *l = CP_VEC_AT(&a->locations, struct cp_location, i);
		uint64_t offset = file_offset(m, l);
		const struct cp_symbol_query *q;
		bool named;

		if (l->mapping != mapping)
			continue;
		q = answer(queries, offset);
		named = q && q->name;
		l->function = choose_offset(n, m, offset, q);
		if (!l->function) {
			l->function = FUNCTION_UNKNOWN;
			n->lacking = true;
		}
		*(named ? &n->named : &n->unnamed) += 1;
	}
}

/* Looks up the COUNT queries. Code that no ELF file holds was made at run time, and may have been
 * announced. */
static int look_up(struct cp_names *n, const struct cp_mapping *m,
		   const struct cp_symbol_module *module, struct cp_symbol_query *q, size_t count)
{
	bool jit = is_anonymous(m);
	int err = 0;

	if (m->kernel)
		return cp_kallsyms_find(q, count, &n->arena);
	if (!jit)
		err = cp_symbols_find(module, q, count, &n->arena);
	if (err == -ENOENT)
		jit = !strncmp(m->path, "/memfd:", 7);
	if (jit)
		err = cp_perfmap_find(is_anonymous(m) ? 0 : m->start - m->offset, q, count,
				      &n->arena);
	return err;
}

/* Looks up those of QUERIES that aren't known yet. The kernel may hide its names from one process
 * and not from another. */
static int look_up_new(struct cp_names *n, const struct cp_mapping *m,
		       const struct cp_symbol_module *module, const struct cp_vec *queries)
{
	uint64_t known = cp_namecache_module(m);
	size_t left = cp_namecache_answer(known, queries->items, queries->count, &n->arena);
	int err = left ? look_up(n, m, module, queries->items, left) : 0;

	if (!err)
		cp_namecache_keep(known, queries->items, left, m->kernel);
	return err;
}

/* Returns whether the error may be gone at the next dump. */
static bool may_pass(int err)
{
	return err == -EIO || err == -EMFILE || err == -ENFILE || err == -EINTR || err == -EAGAIN;
}

/* Records the result ERR of the look-up for MAPPING. Missing symbols are no trouble; neither is
 * code made at run time that wasn't announced. */
static void take_result(struct cp_names *n, const struct cp_mapping *m, uint32_t mapping, int err)
{
	if (err == -ENOMEM)
		n->lacking = true;
	if (!err || err == -ENOENT || err == -ENOMEM || m->kernel || is_anonymous(m))
		return;
	of_mapping(n, mapping)->trouble = err;
	if (may_pass(err) && n->rereadings < REREADINGS_MAX)
		n->unread = true;
}

/* Looks up the new locations of one mapping. */
static int name_mapping(struct cp_names *n, struct cp_aggregate *a, uint32_t mapping)
{
	const struct cp_mapping *m = mapping_at(a, mapping);
	char exe[CP_THREAD_FILE_PATH];
	struct cp_symbol_module module = {
		.path = m->path,
		.build_id = m->build_id_size ? m->build_id : NULL,
		.build_id_size = m->build_id_size,
		.image = m->live ? m->image : 0,
		.image_size = m->live && m->image ? m->image_limit - m->image : 0,
		.replaced = m->deleted,
		.also = m->self_exe ? cp_thread_file_path(exe, "exe") : NULL,
	};
	struct cp_vec queries = { .size = sizeof(struct cp_symbol_query) };
	int err = 0;

	for (uint32_t i = n->done; i < a->locations.count && !err; i++) {
		struct cp_location *l = CP_VEC_AT(&a->locations, struct cp_location, i);
		struct cp_symbol_query *q;

		if (l->mapping != mapping)
			continue;
		q = cp_vec_add(&queries);
		if (q)
			q->offset = file_offset(m, l);
		else
			err = -ENOMEM;
	}
	if (queries.count) {
		take_result(n, m, mapping, look_up_new(n, m, &module, &queries));
		/* A look-up without memory may not have sorted the queries. */
		cp_sort(queries.items, queries.count, queries.size);
		set_functions(n, a, mapping, &queries);
	}
	cp_vec_release(&queries);
	return err;
}

static int name_special(struct cp_names *n, struct cp_aggregate *a)
{
	struct cp_location *l = a->locations.items;

	/* An earlier attempt may have stored some of them. */
	n->functions.count = 0;
	l[CP_LOCATION_TRUNCATED].function = synthetic(n, "[truncated]");
	l[CP_LOCATION_INCOMPLETE].function = synthetic(n, "[incomplete]");
	l[CP_LOCATION_SHORT_WAITS].function = synthetic(n, "[short waits]");
	l[CP_LOCATION_LOST_WAITS].function = synthetic(n, "[waits without a stack]");
	l[CP_LOCATION_NOT_SAMPLED].function = synthetic(n, "[not sampled]");
	l[CP_LOCATION_FREED].function = synthetic(n, "[freed by]");
	l[CP_LOCATION_WOKEN].function = synthetic(n, "[woken by]");
	l[CP_LOCATION_WAKER_UNKNOWN].function = synthetic(n, "[waker unknown]");
	l[CP_LOCATION_HOLDER_UNKNOWN].function = synthetic(n, "[holder unknown]");
	l[CP_LOCATION_TIMED_OUT].function = synthetic(n, "[timed out]");
	l[CP_LOCATION_INTERRUPTED].function = synthetic(n, "[interrupted by a signal]");
	if (!synthetic(n, "[unknown]") || !synthetic(n, "[kernel]"))
		return -ENOMEM;
	n->done = CP_LOCATION_FIRST;
	return 0;
}

/* Names the new locations of all mappings. One buffer serves all names, because each unmapping
 * disturbs every processor that runs a thread of the program. Without the buffer, names stay
 * mangled. */
static int name_all(struct cp_names *n, struct cp_aggregate *a)
{
	int err;

	n->buffer = cp_sys_map(NAME_MAX_BYTES);
	err = name_mapping(n, a, CP_NO_MAPPING);
	for (uint32_t m = 0; m < a->modules->mappings.count && !err; m++)
		err = name_mapping(n, a, m);
	cp_sys_unmap(n->buffer, NAME_MAX_BYTES);
	n->buffer = NULL;
	return err;
}

/* Drops the names of the locations from DONE on, which are named anew. */
static void go_back(struct cp_names *n)
{
	n->rereadings += n->unread;
	n->lacking = n->unread = false;
	n->named = n->done_named;
	n->unnamed = n->done_unnamed;
	for (uint32_t m = 0; m < n->mappings.count; m++)
		of_mapping(n, m)->trouble = of_mapping(n, m)->done_trouble;
}

static void go_on(struct cp_names *n, const struct cp_aggregate *a)
{
	n->done = (uint32_t)a->locations.count;
	n->done_named = n->named;
	n->done_unnamed = n->unnamed;
	for (uint32_t m = 0; m < n->mappings.count; m++)
		of_mapping(n, m)->done_trouble = of_mapping(n, m)->trouble;
}

int cp_names_update(struct cp_names *n, struct cp_aggregate *a, bool symbolize)
{
	int err = cp_aggregate_prepare(a);

	if (!err && n->done == 0)
		err = name_special(n, a);
	while (!err && n->mappings.count < a->modules->mappings.count)
		err = cp_vec_add(&n->mappings) ? 0 : -ENOMEM;
	if (err || !symbolize)
		return err;
	go_back(n);
	if (n->done < a->locations.count)
		err = name_all(n, a);
	if (!err && !n->lacking && !n->unread)
		go_on(n, a);
	return err;
}

uint32_t cp_names_unread(const struct cp_names *n, uint32_t from)
{
	for (uint32_t m = from; m < n->mappings.count; m++)
		if (of_mapping(n, m)->trouble)
			return m;
	return CP_NO_MAPPING;
}

void cp_names_release(struct cp_names *n)
{
	cp_arena_release(&n->arena);
	cp_vec_release(&n->functions);
	cp_vec_release(&n->mappings);
	cp_index_release(&n->index);
}
