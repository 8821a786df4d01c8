/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a CPU profile of many samples, for measuring readers: big-profile FILE [SAMPLES [SEED]].
 *
 * Stacks grow from a tree of calls with a few hot branches and a long tail, as those of a big
 * server do: 30 frames deep on average, 30,000 functions in 60,000 locations, some of them inlined.
 * A million samples (the default) make a file of about 50 MB.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/model.h"
#include "core/read.h"

#define FUNCTIONS 30000
#define LOCATIONS 60000
#define MODULES 20
#define THREADS 64
#define CALLEES 16 /* of each function */
#define DEPTH_MAX 128

static uint64_t state = 1;

/* splitmix64 */
static uint64_t random_word(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)((random_word() >> 32) * n >> 32);
}

static uint32_t text(struct ct_profile *p, const char *format, unsigned i)
{
	char line[128];

	snprintf(line, sizeof(line), format, i);
	return ct_model_string(p, line);
}

static void add_tables(struct ct_profile *p)
{
	for (unsigned i = 0; i < MODULES; i++)
		ct_model_add_mapping(
			p, &(struct ct_mapping){ .start = 0x400000 + i * 0x1000000ull,
						 .limit = 0x1400000 + i * 0x1000000ull,
						 .file = text(p, "/usr/lib/big/libmodule%u.so", i),
						 .build_id = text(p, "%040u", i),
						 .has_functions = true,
						 .has_filenames = true,
						 .has_lines = true,
						 .has_inlines = true });
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		uint32_t name = text(p, "big::module::Class%u::method", i);

		ct_model_add_function(
			p, &(struct ct_function){ .name = name,
						  .system_name = name,
						  .filename = text(p, "/src/big/file%u.cc", i / 8),
						  .start_line = 1 + i % 8 * 100 });
	}
	for (uint32_t i = 0; i < LOCATIONS; i++) {
		struct ct_line lines[2] = { { .function = i % FUNCTIONS, .line = 1 + i % 700 },
					    { .function = (i + 7) % FUNCTIONS, .line = 3 } };
		struct ct_location l = { .mapping = i % MODULES };

		l.address = p->mappings[l.mapping].start + i * 16;
		ct_model_add_location(p, &l, lines, i % 10 ? 1 : 2);
	}
}

/* Three quarters of the calls go to the first callee, as many of the rest to the second, and so on.
 */
static uint32_t callee(uint32_t location)
{
	uint32_t which = (uint32_t)__builtin_ctzll(random_word() | random_word() | 1ull << CALLEES);

	return (location * 31 + which * 977 + 1) % LOCATIONS;
}

static void add_samples(struct ct_profile *p, unsigned count)
{
	uint32_t stack[DEPTH_MAX], frames[DEPTH_MAX], sets[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		struct ct_label label = { .key = ct_model_string(p, "thread"),
					  .text = text(p, "worker-%u", i) };

		sets[i] = ct_model_label_set(p, &label, 1);
	}
	for (unsigned i = 0; i < count; i++) {
		uint32_t depth = 8 + below(22) + below(22), at = below(4);

		for (uint32_t k = 0; k < depth; k++)
			stack[k] = at = k ? callee(at) : at;
		for (uint32_t k = 0; k < depth; k++)
			frames[k] = stack[depth - 1 - k];
		ct_model_add_sample(p, frames, depth,
				    (const int64_t[]){ 1, 10101010 * (1 + below(2)) },
				    sets[below(THREADS)]);
	}
}

int main(int argc, char **argv)
{
	struct ct_profile *p = ct_model_new();
	int error;

	if (argc < 2) {
		fprintf(stderr, "usage: big-profile FILE [SAMPLES [SEED]]\n");
		return 2;
	}
	if (argc > 3)
		state = strtoull(argv[3], NULL, 10);
	ct_model_add_type(
		p, (struct ct_type){ ct_model_string(p, "samples"), ct_model_string(p, "count") });
	ct_model_add_type(p, (struct ct_type){ ct_model_string(p, "cpu"),
					       ct_model_string(p, "nanoseconds") });
	p->period_type = p->types[1];
	p->period = 10101010;
	p->duration_nanos = 60000000000;
	p->time_nanos = 1700000000000000000;
	add_tables(p);
	add_samples(p, argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000000);
	error = ct_write_file(p, argv[1]);
	ct_model_free(p);
	return error ? 1 : 0;
}
