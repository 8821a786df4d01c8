/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums samples; see profile.h. */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "sample/sample.h"

/* A million different stacks of 30 frames fit. A larger profile is of no use, and the program's
 * memory is worth more. */
#define ARENA_LIMIT ((size_t)256 << 20)

/* The deepest stack: 4096 frames and one frame that says that the stack is incomplete. */
#define DEPTH_MAX 4097

/* Limits on ended threads that keep labels of their own: ENDED_AT_ONCE_MAX for a thread that was
 * first seen after its end, ENDED_MAX for all. A living thread deserves its own label more than
 * one of a crowd. */
#define ENDED_AT_ONCE_MAX 1000u
#define ENDED_MAX 4000u
/* This many threads that ended without a label count as one that has one: they are a crowd, too. */
#define CROWD 8u

/* Threads that share a label have up to NAMES_MAX names; the other names share one label. */
#define NAMES_MAX 1000u
#define OTHERS "(others)"

/* Cached locations, by pc. */
#define RECENT_BITS 11
#define RECENT ((size_t)1 << RECENT_BITS)

struct location_key {
	uint64_t address;
	uint64_t mapping;
};

struct stack_key {
	const uint32_t *locations;
	uint32_t depth, thread, labels;
	uint64_t tag;
};

void cp_aggregate_init(struct cp_aggregate *a, struct cp_modules *modules)
{
	*a = (struct cp_aggregate){ .modules = modules,
				    .arena = { .limit = ARENA_LIMIT },
				    .locations = { .size = sizeof(struct cp_location) },
				    .stacks = { .size = sizeof(struct cp_stack) },
				    .threads = { .size = sizeof(struct cp_thread_label) } };
}

int cp_aggregate_prepare(struct cp_aggregate *a)
{
	while (a->locations.count < CP_LOCATION_FIRST) {
		struct cp_location *l = cp_vec_add(&a->locations);

		if (!l)
			return -ENOMEM;
		l->mapping = CP_NO_MAPPING;
	}
	return 0;
}

uint32_t cp_aggregate_thread(struct cp_aggregate *a, int32_t tid)
{
	struct cp_thread_label *l = cp_vec_add(&a->threads);

	if (!l)
		return CP_INDEX_NONE;
	l->tid = tid;
	return (uint32_t)(a->threads.count - 1);
}

void cp_aggregate_thread_ended(struct cp_aggregate *a, bool labelled)
{
	if (labelled)
		a->ended++;
	else
		a->crowd++;
}

bool cp_aggregate_shares(const struct cp_aggregate *a, bool ended)
{
	return a->ended + a->crowd / CROWD >= (ended ? ENDED_AT_ONCE_MAX : ENDED_MAX);
}

static bool same_name(uint32_t item, const void *key, const void *context)
{
	const struct cp_aggregate *a = context;

	return !strcmp(CP_VEC_AT(&a->threads, struct cp_thread_label, item)->name, key);
}

uint32_t cp_aggregate_shared_thread(struct cp_aggregate *a, const char *name)
{
	uint32_t hash = cp_index_hash(name, strlen(name)), item;
	struct cp_thread_label *l;

	item = cp_index_find(&a->name_index, hash, same_name, name, a);
	if (item != CP_INDEX_NONE)
		return item;
	if (a->name_index.count >= NAMES_MAX && strcmp(name, OTHERS) != 0)
		return cp_aggregate_shared_thread(a, OTHERS);
	l = cp_vec_add(&a->threads);
	if (!l)
		return CP_INDEX_NONE;
	item = (uint32_t)(a->threads.count - 1);
	if (cp_index_add(&a->name_index, hash, item) < 0) {
		a->threads.count--;
		return CP_INDEX_NONE;
	}
	memcpy(l->name, name, strnlen(name, CP_THREAD_NAME - 1));
	return item;
}

static bool same_location(uint32_t item, const void *key, const void *context)
{
	const struct cp_aggregate *a = context;
	const struct location_key *k = key;
	const struct cp_location *l = CP_VEC_AT(&a->locations, struct cp_location, item);

	return l->address == k->address && l->mapping == k->mapping;
}

static uint32_t look_up(struct cp_aggregate *a, uint64_t pc)
{
	struct location_key key = { pc, cp_modules_find(a->modules, pc) };
	struct cp_location *l;
	uint32_t hash, item;

	if (key.mapping == CP_NO_MAPPING && cp_modules_is_kernel(pc))
		key.mapping = cp_modules_kernel(a->modules);
	hash = cp_index_hash(&key, sizeof(key));
	item = cp_index_find(&a->location_index, hash, same_location, &key, a);
	if (item != CP_INDEX_NONE)
		return item;
	item = (uint32_t)a->locations.count;
	l = cp_vec_add(&a->locations);
	if (!l)
		return CP_INDEX_NONE;
	if (cp_index_add(&a->location_index, hash, item) < 0) {
		a->locations.count--;
		return CP_INDEX_NONE;
	}
	l->address = pc;
	l->mapping = (uint32_t)key.mapping;
	if (l->mapping != CP_NO_MAPPING)
		cp_modules_identify(cp_modules_at(a->modules, l->mapping));
	return item;
}

/* The locations of CP_PC_*, from CP_PC_SPECIAL on. */
static const uint32_t special[] = { CP_LOCATION_NOT_SAMPLED, CP_LOCATION_FREED,
				    CP_LOCATION_WOKEN,	     CP_LOCATION_WAKER_UNKNOWN,
				    CP_LOCATION_TIMED_OUT,   CP_LOCATION_INTERRUPTED,
				    CP_LOCATION_TRUNCATED,   CP_LOCATION_INCOMPLETE };
#define SPECIALS (sizeof(special) / sizeof(*special))

/* Most frames occurred a moment ago, in a neighbouring stack. A cached location is valid until the
 * modules are read again. */
static uint32_t find_location(struct cp_aggregate *a, uint64_t pc)
{
	uint32_t reading = (uint32_t)a->modules->readings + 1;
	struct cp_recent *r;

	if (pc - CP_PC_SPECIAL < SPECIALS)
		return special[pc - CP_PC_SPECIAL];
	/* Of few locations, the cache's page faults would cost more than the look-ups. */
	if (!a->recent && a->locations.count > RECENT / 8)
		a->recent = cp_sys_map(RECENT * sizeof(*a->recent));
	if (!a->recent)
		return look_up(a, pc);
	r = &a->recent[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - RECENT_BITS)];
	if (r->pc == pc && r->reading == reading)
		return r->location;
	*r = (struct cp_recent){ pc, look_up(a, pc), reading };
	if (r->location == CP_INDEX_NONE)
		r->reading = 0;
	return r->location;
}

struct cp_aggregate_range cp_aggregate_programs[CP_AGGREGATE_PROGRAMS];

static bool is_programs(uint64_t pc)
{
	bool is = false;

	for (unsigned i = 0; i < CP_AGGREGATE_PROGRAMS; i++)
		is |= pc >= cp_aggregate_programs[i].low && pc < cp_aggregate_programs[i].high;
	return is;
}

static bool is_ours(const struct cp_aggregate *a, uint32_t location)
{
	const struct cp_location *l = CP_VEC_AT(&a->locations, struct cp_location, location);

	return l->mapping != CP_NO_MAPPING &&
	       cp_mapping_is_own_code(cp_modules_at(a->modules, l->mapping), l->address) &&
	       !is_programs(l->address);
}

/* Stores the locations of RAW, without the profiler's own frames, in TO. Returns their number, or
 * -ENOMEM. */
static int locate(struct cp_aggregate *a, const struct cp_raw_stack *raw, uint32_t *to)
{
	uint32_t n = 0, location = CP_INDEX_NONE;

	for (uint32_t i = 0; i < raw->depth; i++) {
		location = find_location(a, raw->pcs[i]);
		if (location == CP_INDEX_NONE)
			return -ENOMEM;
		if (!is_ours(a, location))
			to[n++] = location;
	}
	/* A stack with only frames of the profiler keeps its outermost frame, because no stack may
	 * be empty. */
	if (!n)
		to[n++] = raw->depth ? location : raw->location;
	if (raw->end == CP_UNWIND_TRUNCATED)
		to[n++] = CP_LOCATION_TRUNCATED;
	else if (raw->end == CP_UNWIND_INCOMPLETE)
		to[n++] = CP_LOCATION_INCOMPLETE;
	return (int)n;
}

static bool same_stack(uint32_t item, const void *key, const void *context)
{
	const struct cp_aggregate *a = context;
	const struct stack_key *k = key;
	const struct cp_stack *s = CP_VEC_AT(&a->stacks, struct cp_stack, item);

	return s->depth == k->depth && s->thread == k->thread && s->tag == k->tag &&
	       s->labels == k->labels &&
	       !memcmp(s->locations, k->locations, k->depth * sizeof(*k->locations));
}

/* Returns the new stack's number, or CP_INDEX_NONE. */
static uint32_t add_stack(struct cp_aggregate *a, const struct stack_key *k, uint32_t hash)
{
	uint32_t *copy = cp_arena_alloc(&a->arena, k->depth * sizeof(*copy));
	struct cp_stack *s;

	s = copy ? cp_vec_add(&a->stacks) : NULL;
	if (!s)
		return CP_INDEX_NONE;
	if (cp_index_add(&a->stack_index, hash, (uint32_t)(a->stacks.count - 1)) < 0) {
		a->stacks.count--;
		return CP_INDEX_NONE;
	}
	memcpy(copy, k->locations, k->depth * sizeof(*copy));
	*s = (struct cp_stack){ .locations = copy,
				.depth = k->depth,
				.thread = k->thread,
				.labels = k->labels,
				.tag = k->tag };
	return (uint32_t)(a->stacks.count - 1);
}

static uint32_t hash_stack(const struct cp_stack *s)
{
	return cp_index_hash(s->locations, s->depth * sizeof(*s->locations)) +
	       s->thread * 0x9e3779b9u + cp_index_hash(&s->tag, sizeof(s->tag)) +
	       s->labels * 0x85ebca6bu;
}

static uint32_t find_row(struct cp_aggregate *a, const struct stack_key *k)
{
	const struct cp_stack s = { .locations = k->locations,
				    .depth = k->depth,
				    .thread = k->thread,
				    .labels = k->labels,
				    .tag = k->tag };
	uint32_t hash = hash_stack(&s);
	uint32_t item = cp_index_find(&a->stack_index, hash, same_stack, k, a);

	return item == CP_INDEX_NONE ? add_stack(a, k, hash) : item;
}

uint32_t cp_aggregate_row(struct cp_aggregate *a, const struct cp_raw_stack *raw)
{
	uint32_t locations[DEPTH_MAX];
	struct stack_key key = { locations, 0, raw->thread, raw->labels, raw->tag };
	int n = cp_aggregate_prepare(a);

	if (!n)
		n = locate(a, raw, locations);
	key.depth = n < 0 ? 0 : (uint32_t)n;
	return n < 0 ? CP_INDEX_NONE : find_row(a, &key);
}

uint32_t cp_aggregate_relabel(struct cp_aggregate *a, uint32_t number, uint32_t labels,
			      uint64_t tag)
{
	const struct cp_stack *s = cp_aggregate_row_at(a, number);
	struct stack_key key = { s->locations, s->depth, s->thread, labels, tag };

	return find_row(a, &key);
}

uint32_t cp_aggregate_add(struct cp_aggregate *a, const struct cp_record *record, uint32_t thread)
{
	uint32_t row = cp_aggregate_row(a, &(struct cp_raw_stack){ .pcs = record->pcs,
								   .depth = record->depth,
								   .end = record->end,
								   .thread = thread,
								   .labels = record->labels,
								   .tag = record->tag });
	struct cp_stack *s;

	if (row == CP_INDEX_NONE)
		return row;
	s = cp_aggregate_row_at(a, row);
	s->values[0] += record->count;
	s->values[1] += record->weight;
	a->records++;
	a->weight += record->weight;
	return row;
}

void cp_aggregate_forget_locations(struct cp_aggregate *a)
{
	cp_vec_release(&a->locations);
	cp_index_release(&a->location_index);
	cp_sys_unmap(a->recent, RECENT * sizeof(*a->recent));
	a->recent = NULL;
	cp_aggregate_prepare(a);
}

void cp_aggregate_release(struct cp_aggregate *a)
{
	cp_arena_release(&a->arena);
	cp_vec_release(&a->locations);
	cp_vec_release(&a->stacks);
	cp_vec_release(&a->threads);
	cp_vec_release(&a->aside);
	cp_index_release(&a->location_index);
	cp_index_release(&a->stack_index);
	cp_index_release(&a->name_index);
	cp_sys_unmap(a->recent, RECENT * sizeof(*a->recent));
	a->recent = NULL;
	a->ended = a->crowd = 0;
}

/* Gives up rows. */

/* Memory above this size is given back when no row stays. */
#define KEPT_BYTES ((size_t)256 << 10)

int cp_aggregate_compact_begin(struct cp_compaction *c, const struct cp_aggregate *a)
{
	*c = (struct cp_compaction){ { .size = sizeof(uint32_t) }, { .size = sizeof(uint32_t) } };
	if (cp_vec_extend(&c->rows, a->stacks.count) &&
	    cp_vec_extend(&c->threads, a->threads.count))
		return 0;
	cp_aggregate_compact_release(c);
	return -ENOMEM;
}

void cp_aggregate_compact_release(struct cp_compaction *c)
{
	cp_vec_release(&c->rows);
	cp_vec_release(&c->threads);
}

void cp_aggregate_compact_keep(struct cp_compaction *c, uint32_t row)
{
	if (row < c->rows.count)
		*CP_VEC_AT(&c->rows, uint32_t, row) = 1;
}

static uint32_t new_number(const struct cp_vec *numbers, uint32_t old)
{
	return old < numbers->count ? *CP_VEC_AT(numbers, uint32_t, old) - 1 : CP_INDEX_NONE;
}

uint32_t cp_aggregate_compact_row(const struct cp_compaction *c, uint32_t row)
{
	return new_number(&c->rows, row);
}

uint32_t cp_aggregate_compact_thread(const struct cp_compaction *c, uint32_t thread)
{
	return new_number(&c->threads, thread);
}

/* Copies the locations of the rows that stay to TO. Returns the first row's, or NULL without
 * memory. */
static uint32_t *copy_locations(const struct cp_compaction *c, const struct cp_aggregate *a,
				struct cp_arena *to)
{
	size_t total = 0;
	uint32_t *block, *at;

	for (uint32_t i = 0; i < a->stacks.count; i++)
		if (*CP_VEC_AT(&c->rows, uint32_t, i))
			total += cp_aggregate_row_at(a, i)->depth;
	block = at = cp_arena_alloc(to, (total + 1) * sizeof(*block));
	for (uint32_t i = 0; block && i < a->stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(a, i);

		if (!*CP_VEC_AT(&c->rows, uint32_t, i))
			continue;
		memcpy(at, s->locations, s->depth * sizeof(*at));
		at += s->depth;
	}
	return block;
}

static void move_rows(struct cp_compaction *c, struct cp_aggregate *a, const uint32_t *locations)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->stacks.count; i++) {
		uint32_t *number = CP_VEC_AT(&c->rows, uint32_t, i);
		struct cp_stack *s = cp_aggregate_row_at(a, count);

		if (!*number)
			continue;
		*s = *cp_aggregate_row_at(a, i);
		s->locations = locations;
		locations += s->depth;
		if (s->thread < c->threads.count)
			*CP_VEC_AT(&c->threads, uint32_t, s->thread) = 1;
		*number = ++count;
	}
	a->stacks.count = count;
}

/* A label that threads share is in the index of names. */
static void move_threads(struct cp_compaction *c, struct cp_aggregate *a)
{
	uint32_t count = 0;

	cp_index_clear(&a->name_index);
	for (uint32_t i = 0; i < a->threads.count; i++) {
		uint32_t *number = CP_VEC_AT(&c->threads, uint32_t, i);
		struct cp_thread_label *l = CP_VEC_AT(&a->threads, struct cp_thread_label, count);

		if (!*number)
			continue;
		*l = *CP_VEC_AT(&a->threads, struct cp_thread_label, i);
		if (!l->tid)
			(void)cp_index_add(&a->name_index, cp_index_hash(l->name, strlen(l->name)),
					   count);
		*number = ++count;
	}
	a->threads.count = count;
}

/* The index has had at least as many entries, so adding needs no memory. */
static void index_rows(const struct cp_compaction *c, struct cp_aggregate *a)
{
	cp_index_clear(&a->stack_index);
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		struct cp_stack *s = cp_aggregate_row_at(a, i);

		if (s->thread != CP_NO_THREAD)
			s->thread = cp_aggregate_compact_thread(c, s->thread);
		(void)cp_index_add(&a->stack_index, hash_stack(s), i);
	}
}

int cp_aggregate_compact_apply(struct cp_compaction *c, struct cp_aggregate *a)
{
	struct cp_arena arena = { .limit = a->arena.limit };
	const uint32_t *locations = copy_locations(c, a, &arena);

	if (!locations)
		return -ENOMEM;
	move_rows(c, a, locations);
	move_threads(c, a);
	index_rows(c, a);
	cp_arena_release(&a->arena);
	a->arena = arena;
	if (!a->stacks.count && a->stacks.room * a->stacks.size > KEPT_BYTES) {
		cp_vec_release(&a->stacks);
		cp_index_release(&a->stack_index);
	}
	return 0;
}
