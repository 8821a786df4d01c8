/* SPDX-License-Identifier: BSD-3-Clause */
/* Summing samples by stack and thread. */
#include "harness.h"

#include "profile/profile.h"
#include "sample/sample.h"

static union {
	struct cp_record record;
	uint64_t words[64];
} r;

static struct cp_modules modules;
static struct cp_aggregate a;

static void begin(void)
{
	cp_modules_init(&modules);
	CHECK_EQ(cp_modules_refresh(&modules), 0);
	cp_aggregate_init(&a, &modules);
}

static void end(void)
{
	cp_aggregate_release(&a);
	cp_modules_release(&modules);
}

static uint64_t here(unsigned offset)
{
	return (uint64_t)(uintptr_t)&begin + offset;
}

static void add(uint64_t leaf, uint64_t caller, uint64_t weight, unsigned stack_end,
		uint32_t thread)
{
	r.record.depth = 2;
	r.record.mode = CPROF_CPU;
	r.record.count = 1;
	r.record.end = (uint8_t)stack_end;
	r.record.weight = weight;
	r.record.pcs[0] = leaf;
	r.record.pcs[1] = caller;
	CHECK(cp_aggregate_add(&a, &r.record, thread) != CP_INDEX_NONE);
}

static const struct cp_stack *stack(size_t i)
{
	return CP_VEC_AT(&a.stacks, struct cp_stack, i);
}

TEST(test_tags_are_kept_apart_and_rows_can_be_set)
{
	uint64_t pcs[] = { here(0), here(8) };
	struct cp_raw_stack raw = { .pcs = pcs, .depth = 2, .thread = CP_NO_THREAD, .tag = 7 };
	uint32_t first, second;

	begin();
	first = cp_aggregate_row(&a, &raw);
	raw.tag = 8;
	second = cp_aggregate_row(&a, &raw);
	CHECK(first != second && first != CP_INDEX_NONE && second != CP_INDEX_NONE);
	CHECK_EQ(cp_aggregate_row(&a, &raw), second);
	CHECK_EQ(stack(second)->tag, 8);
	CHECK_EQ(stack(second)->values[3], 0);
	cp_aggregate_row_at(&a, second)->values[3] = 5;
	CHECK_EQ(stack(second)->values[3], 5);
	CHECK_EQ(stack(first)->values[3], 0);
	end();
}

/* The drain's treatment of a thread that it sees only once, after the thread's end. */
static uint32_t label_ended(int32_t tid, const char *name)
{
	uint32_t t;

	if (cp_aggregate_shares(&a, true))
		return cp_aggregate_shared_thread(&a, name);
	t = cp_aggregate_thread(&a, tid);
	CHECK(t != CP_INDEX_NONE);
	strcpy(CP_VEC_AT(&a.threads, struct cp_thread_label, t)->name, name);
	cp_aggregate_thread_ended(&a, true);
	return t;
}

TEST(test_a_crowd_of_ended_threads_shares_a_row)
{
	uint32_t t, before;

	begin();
	for (int i = 1; i <= 100000; i++)
		add(here(0), here(8), 1, CP_UNWIND_COMPLETE, label_ended(i, "worker"));
	CHECK_EQ(a.weight, 100000);
	CHECK_EQ(a.threads.count, 1001);
	CHECK_EQ(a.stacks.count, 1001);
	CHECK_EQ(stack(0)->values[0], 1);
	CHECK_EQ(stack(1000)->values[0], 99000);
	t = stack(1000)->thread;
	CHECK_EQ(CP_VEC_AT(&a.threads, struct cp_thread_label, t)->tid, 0);
	CHECK(!strcmp(CP_VEC_AT(&a.threads, struct cp_thread_label, t)->name, "worker"));
	before = cp_aggregate_shared_thread(&a, "another");
	CHECK(before != t);
	CHECK_EQ(cp_aggregate_shared_thread(&a, "another"), before);
	/* One that lives has a label of its own for longer. */
	CHECK(!cp_aggregate_shares(&a, false));
	for (int i = 0; i < 3000; i++)
		cp_aggregate_thread_ended(&a, true);
	CHECK(cp_aggregate_shares(&a, false));
	end();
}

TEST(test_threads_without_a_label_are_a_crowd_too)
{
	begin();
	for (int i = 0; i < 7999; i++)
		cp_aggregate_thread_ended(&a, false);
	CHECK(!cp_aggregate_shares(&a, true));
	cp_aggregate_thread_ended(&a, false);
	CHECK(cp_aggregate_shares(&a, true));
	CHECK(!cp_aggregate_shares(&a, false));
	end();
}

TEST(test_names_that_threads_share_are_bounded)
{
	char name[CP_THREAD_NAME];

	begin();
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "request-%d", i);
		add(here(0), here(8), 1, CP_UNWIND_COMPLETE, cp_aggregate_shared_thread(&a, name));
	}
	CHECK_EQ(a.threads.count, 1001);
	CHECK_EQ(a.stacks.count, 1001);
	CHECK_EQ(stack(1000)->values[0], 99000);
	end();
}

/* A page of a new file, at P where P is not NULL. */
static char *map_file(char *p)
{
	char path[] = "/tmp/test-aggregate-XXXXXX";
	int fd = mkstemp(path);

	CHECK_EQ(ftruncate(fd, 4096), 0);
	p = mmap(p, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (p ? MAP_FIXED : 0), fd, 0);
	close(fd);
	unlink(path);
	return p;
}

/* The second time the address is at hand already. */
TEST(test_an_address_may_become_another_modules)
{
	char *p = map_file(NULL);
	uint64_t pc = (uint64_t)(uintptr_t)p;
	uint32_t t;

	begin();
	t = cp_aggregate_thread(&a, 1);
	for (int i = 0; i < 2; i++)
		add(pc, here(0), 1, CP_UNWIND_COMPLETE, t);
	CHECK_EQ(a.stacks.count, 1);
	map_file(p);
	CHECK_EQ(cp_modules_refresh(&modules), 0);
	for (int i = 0; i < 2; i++)
		add(pc, here(0), 1, CP_UNWIND_COMPLETE, t);
	CHECK_EQ(a.stacks.count, 2);
	CHECK_EQ(stack(1)->values[0], 2);
	munmap(p, 4096);
	end();
}
