/* SPDX-License-Identifier: BSD-3-Clause */
/* From rings to runs: the drained samples, and the modules that they are given to. */
#include "harness.h"

#include "collect/collect.h"
#include "output/output.h"
#include "base/atomic.h"
#include "sample/ring.h"
#include "sample/sample.h"

#define PAGE 4096

static struct cp_modules modules;
static struct cp_run runs[CP_MODES];
static struct cp_thread *t;
static void (*meanwhile)(void);
static char *place;
static char old_path[] = "/tmp/test-drain-old-XXXXXX", new_path[] = "/tmp/test-drain-new-XXXXXX";

/* Comes after the modules were read, before the rings are. */
static void collect(struct cp_run *r)
{
	(void)r;
	if (meanwhile)
		meanwhile();
}

CP_THREAD_LABEL(thread_label);

static const struct cp_mode_ops ops = { .name = "test",
					.collect = collect,
					.thread_label = &thread_label };

static const struct cp_mode_ops *const modes[CP_MODES] = { [CPROF_CPU] = &ops };

static void begin(void)
{
	struct cp_run *r = &runs[CPROF_CPU];

	cp_mode_ops_set(modes);
	cp_modules_init(&modules);
	cp_ring_configure(64);
	cp_run_begin(r, &modules, NULL);
	r->ops = &ops;
	r->mode = CPROF_CPU;
	r->running = true;
	t = cp_thread_claim();
	cp_thread_enter(t);
	cp_store_release(&t->ring, cp_ring_take());
	meanwhile = NULL;
}

static void end(void)
{
	if (t->ring)
		cp_store_release(&t->state, CP_THREAD_ENDED);
	cp_drain_all(runs, &modules);
	CHECK(t->ring == NULL);
	cp_run_release(&runs[CPROF_CPU]);
	cp_modules_release(&modules);
}

static void sample(uint64_t pc)
{
	struct cp_record *record = cp_ring_reserve(t->ring, 1);

	*record = (struct cp_record){
		.depth = 1, .mode = CPROF_CPU, .end = CP_UNWIND_COMPLETE, .count = 1, .weight = 1
	};
	record->pcs[0] = pc;
	cp_ring_commit(t->ring, record);
}

static uint64_t samples(void)
{
	return runs[CPROF_CPU].aggregate.records;
}

/* The module of the newest row's leaf; NULL: none. */
static const char *path_of_last(void)
{
	const struct cp_aggregate *a = &runs[CPROF_CPU].aggregate;
	const struct cp_stack *s =
		a->stacks.count ? CP_VEC_AT(&a->stacks, struct cp_stack, a->stacks.count - 1)
				: NULL;
	const struct cp_mapping *m;

	if (!s)
		return NULL;
	m = cp_modules_at(&modules,
			  CP_VEC_AT(&a->locations, struct cp_location, s->locations[0])->mapping);
	return m ? m->path : NULL;
}

static void make_file(char *path)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	close(fd);
}

static void map_file(const char *path)
{
	FILE *f = fopen(path, "r");

	CHECK(f && mmap(place, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fileno(f),
			0) == place);
	fclose(f);
}

/* Nothing, where nobody else's pages will come. */
static void reserve(void)
{
	char *at = mmap(place, PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);

	CHECK(at != MAP_FAILED);
	place = at;
}

static void load_new_and_sample(void)
{
	meanwhile = NULL;
	map_file(new_path);
	sample((uint64_t)(uintptr_t)place + 8);
}

/* The collector has read the list of modules, and pauses: a module is loaded where another one was,
 * and is sampled. */
TEST(test_a_sample_in_a_module_that_came_after_the_list_was_read)
{
	begin();
	make_file(old_path);
	make_file(new_path);
	reserve();
	map_file(old_path);
	sample((uint64_t)(uintptr_t)place);
	cp_drain_all(runs, &modules);
	CHECK_EQ(samples(), 1);
	CHECK_STR(path_of_last(), old_path);
	reserve();

	meanwhile = load_new_and_sample;
	cp_drain_all(runs, &modules);
	cp_drain_all(runs, &modules);
	CHECK_EQ(samples(), 2);
	CHECK_STR(path_of_last(), new_path);
	munmap(place, PAGE);
	unlink(old_path);
	unlink(new_path);
	end();
}

static void sample_and_end(void)
{
	meanwhile = NULL;
	sample((uint64_t)(uintptr_t)&sample);
	cp_store_release(&t->state, CP_THREAD_ENDED);
}

/* Its record is not given back before what it sampled last was taken. */
TEST(test_a_thread_that_ends_during_a_drain_loses_nothing)
{
	begin();
	meanwhile = sample_and_end;
	cp_drain_all(runs, &modules);
	cp_drain_all(runs, &modules);
	CHECK_EQ(samples(), 1);
	end();
}

/* A drain reads the list of mappings. */
TEST(test_threads_that_end_are_drained_together)
{
	cp_collect_ends_drained();
	cp_store_release(&cp_collector.state, CP_COLLECTOR_RUNNING);
	for (int i = 0; i < 63; i++)
		cp_collect_ended();
	CHECK(cp_collect_has_ended());
	CHECK_EQ(cp_collector.requests, 0);
	cp_collect_ended();
	CHECK_EQ(cp_collector.requests, CP_REQUEST_DRAIN);
	cp_store_release(&cp_collector.state, CP_COLLECTOR_NONE);
	cp_collector.requests = 0;
	cp_collect_ends_drained();
	CHECK(!cp_collect_has_ended());
}
