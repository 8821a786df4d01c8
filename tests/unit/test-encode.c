/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows as a pprof profile: the statements of a file about itself are true of its contents. */
#include "harness.h"

#include "../tools/pprof-check.h"
#include "output/pprof.h"
#include "pprof-sample.h"

static struct cp_modules modules = { .mappings = { .size = sizeof(struct cp_mapping) } };
static struct cp_aggregate a = { .modules = &modules,
				 .locations = { .size = sizeof(struct cp_location) },
				 .stacks = { .size = sizeof(struct cp_stack) } };
static struct cp_names names = { .functions = { .size = sizeof(struct cp_function) } };

static uint32_t mapping(const char *path, uint64_t start, bool is_main)
{
	struct cp_mapping *m = cp_vec_add(&modules.mappings);

	m->start = start;
	m->limit = start + 0x1000;
	m->path = path;
	m->main = is_main;
	return (uint32_t)modules.mappings.count - 1;
}

/* A location in a function of its own, whose name is SYMBOL or, if that is NULL, PLACE. */
static uint32_t location(uint32_t in, uint64_t offset, const char *symbol, const char *place)
{
	struct cp_location *l = cp_vec_add(&a.locations);
	struct cp_function *f = cp_vec_add(&names.functions);

	f->name = f->system_name = symbol ? symbol : place;
	f->has_symbol = symbol != NULL;
	l->address = CP_VEC_AT(&modules.mappings, struct cp_mapping, in)->start + offset;
	l->mapping = in;
	l->function = (uint32_t)names.functions.count - 1;
	return (uint32_t)a.locations.count - 1;
}

static void row(const uint32_t *locations, uint32_t depth, uint64_t value)
{
	struct cp_stack *s = cp_vec_add(&a.stacks);

	*s = (struct cp_stack){ .locations = locations,
				.depth = depth,
				.thread = CP_NO_THREAD,
				.values = { value, value } };
}

/* The names of libbare.so's functions are in rows without a value only. */
static void make_rows(void)
{
	static uint32_t stacks[3][2];
	uint32_t app, bare;

	cp_vec_add(&names.functions); /* number 0 is none */
	app = mapping("/opt/app", 0x10000, true);
	bare = mapping("/usr/lib/libbare.so", 0x20000, false);
	stacks[0][0] = location(bare, 0x10, "exported", NULL);
	stacks[0][1] = stacks[1][1] = location(app, 0x10, "main", NULL);
	stacks[1][0] = location(bare, 0x20, NULL, "libbare.so+0x20");
	row(stacks[0], 2, 0);
	row(stacks[1], 2, 1);
}

static void encode(struct memory_sink *to)
{
	const struct cp_profile_info info = { .types = sample_types,
					      .type_count = 2,
					      .period_type = { "cpu", "nanoseconds" },
					      .period = 1,
					      .time_ns = 1790000000000000000,
					      .duration_ns = 1,
					      .labels = "" };

	CHECK_EQ(cp_encode_write(&a, &names, &info, &to->sink), 0);
}

static void end(void)
{
	cp_vec_release(&modules.mappings);
	cp_vec_release(&a.locations);
	cp_vec_release(&a.stacks);
	cp_vec_release(&names.functions);
}

TEST(test_a_mapping_has_functions_if_the_file_has_one)
{
	struct pcheck_report r = { 0 };
	struct memory_sink m = MEMORY_SINK;
	struct pcheck_profile p;

	make_rows();
	encode(&m);
	pcheck_decode(&p, m.data, m.size, &r);
	pcheck_rules(&p, NULL, "/opt/app", &r);
	CHECK(!pcheck_was(&r, "has-flags"));
	CHECK_EQ(p.mapping_count, 2);
	CHECK_EQ(p.location_count, 2);
	CHECK_EQ(!p.mappings[0].functions, 0);
	CHECK_EQ(!p.mappings[1].functions, 1);
	pcheck_free(&p);
	free(m.data);
	end();
}
