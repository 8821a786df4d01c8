/* SPDX-License-Identifier: BSD-3-Clause */
/* Arena, vector, and the pages below them. */
#include "harness.h"

#include <execinfo.h>

#include "base/base.h"
#include "base/sys.h"

TEST(test_arena_keeps_its_limit)
{
	struct cp_arena a = { .limit = 64 << 10 };
	size_t got = 0;

	while (cp_arena_alloc(&a, 1000))
		got += 1000;
	CHECK(got > 32000 && got <= 64 << 10);
	CHECK(!cp_arena_alloc(&a, 1 << 20));
	CHECK(!cp_arena_alloc(&a, SIZE_MAX - 3));
	cp_arena_release(&a);
	CHECK_EQ(a.limit, 64 << 10);
}

TEST(test_vector_is_made_as_long_as_asked)
{
	struct cp_vec v = { .size = sizeof(uint32_t) };

	CHECK(cp_vec_extend(&v, 0) && v.count == 0);
	CHECK(cp_vec_extend(&v, 3) && v.count == 3);
	*CP_VEC_AT(&v, uint32_t, 2) = 7;
	CHECK(cp_vec_extend(&v, 1) && v.count == 3);
	/* Old contents, from before its items were removed, are not seen again. */
	v.count = 1;
	CHECK(cp_vec_extend(&v, 5000));
	for (uint32_t i = 0; i < 5000; i++)
		CHECK_EQ(*CP_VEC_AT(&v, uint32_t, i), 0);
	cp_vec_release(&v);
}

/* Mapped in one, given back in pieces. */
TEST(test_unmapping_takes_all_and_no_more)
{
	enum { PAGES = 2000, FIRST = 3, LAST = 1990 };
	size_t page = cp_pages_kernel();
	char *p = cp_sys_map(PAGES * page);
	unsigned char there;

	CHECK(p != NULL);
	cp_sys_unmap(p + FIRST * page, (LAST - FIRST) * page);
	for (int i = 0; i < PAGES; i++)
		CHECK_EQ(mincore(p + i * page, page, &there) == 0, i < FIRST || i >= LAST);
	cp_sys_unmap(p, FIRST * page);
	cp_sys_unmap(p + LAST * page, (PAGES - LAST) * page);
	cp_sys_unmap(NULL, 4096);
}

static uint64_t distance(const void *a, const void *b)
{
	return a > b ? (uint64_t)((const char *)a - (const char *)b)
		     : (uint64_t)((const char *)b - (const char *)a);
}

/* The kernel's next one lies beside its last one. */
TEST(test_mappings_are_far_from_the_programs)
{
	void *theirs = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *ours = cp_sys_map(4096), *huge = cp_sys_map((size_t)6 << 20);

	CHECK(ours && huge && theirs != MAP_FAILED);
	CHECK(distance(ours, theirs) > (uint64_t)16 << 30);
	CHECK(distance(huge, theirs) > (uint64_t)16 << 30);
	CHECK_EQ((uintptr_t)huge % ((size_t)2 << 20), 0);
	CHECK(!cp_sys_map(SIZE_MAX / 2));
	cp_sys_unmap(ours, 4096);
	cp_sys_unmap(huge, (size_t)6 << 20);
	munmap(theirs, 4096);
}

TEST(test_what_others_have_mapped_stays)
{
	const size_t size = (size_t)64 << 20;
	char *first = cp_sys_map(4096), *there, *p;

	CHECK(first != NULL);
	there = mmap(first + 65536, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(there == first + 65536);
	there[0] = there[size - 1] = 1;
	for (int i = 0; i < 300; i++) {
		p = cp_sys_map(65536);
		CHECK(p && (p >= there + size || p + 65536 <= there));
		CHECK(distance(p, first) < (uint64_t)1 << 40);
	}
	CHECK(there[0] == 1 && there[size - 1] == 1);
	munmap(there, size);
}

/* Three times more than there is room for. */
TEST(test_addresses_begin_anew)
{
	const size_t size = (size_t)32 << 30;
	uint64_t *kept[24];

	for (unsigned i = 0; i < 24; i++) {
		void *p = cp_sys_map(size);

		if (!p)
			SKIP("the kernel gives no 32 GiB to be touched as needed");
		cp_sys_unmap(p, size);
		kept[i] = cp_sys_map(4096);
		CHECK(kept[i] && *kept[i] == 0);
		CHECK(distance(kept[i], kept[0]) < (uint64_t)600 << 30);
		*kept[i] = i + 1;
	}
	for (unsigned i = 0; i < 24; i++) {
		CHECK_EQ(*kept[i], i + 1);
		cp_sys_unmap(kept[i], 4096);
	}
}

/* Half of it, until the write is the last. */
TEST(test_a_write_may_use_the_reserve)
{
	size_t size = 2 * CP_ARCH_PAGE_MAX, none = 0;
	char *first, *second;

	cp_reserve_keep(cp_sys_map_none(size), &size);
	CHECK(!cp_reserve_take(1));
	cp_reserve_open((uint32_t)cp_sys_gettid());
	first = cp_reserve_take(4096);
	CHECK(first && !cp_reserve_take(1));
	first[0] = 1;
	cp_reserve_use_all();
	second = cp_reserve_take(4096);
	CHECK(second && second != first && !cp_reserve_take(1));
	cp_sys_unmap(first, 4096);
	CHECK_EQ(cp_reserve_take(1), first);
	CHECK_EQ(first[0], 0);
	cp_sys_unmap(first, 4096);
	cp_sys_unmap(second, 4096);
	CHECK(!cp_reserve_take(2 * CP_ARCH_PAGE_MAX + 1));
	cp_reserve_close();
	cp_reserve_keep(NULL, &none);
}

static void walk(void *unused)
{
	void *addresses[64];

	(void)unused;
	backtrace(addresses, 64);
}

/* A stack with nothing above it. */
static char *lone_stack(void)
{
	char *p = mmap(NULL, 32768, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(p, 16384, PROT_READ | PROT_WRITE) ? NULL : p + 16384;
}

static void check_lives(long pid)
{
	int status;

	CHECK(waitpid((int)pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

TEST(test_nobody_looks_for_callers_above_a_stack)
{
	int pid;

	walk(NULL); /* loads what it needs */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		cp_call_on_stack(walk, NULL, lone_stack());
		_exit(0);
	}
	check_lives(pid);
}

TEST(test_nobody_looks_for_callers_of_a_task)
{
	walk(NULL);
	check_lives(cp_clone(SIGCHLD, lone_stack(), walk, NULL, NULL, NULL));
}

static bool is_mapped(void *p)
{
	unsigned char in_memory;

	return mincore(p, 1, &in_memory) == 0;
}

/* Unmapping takes the lock of the address space, which other threads wait for. */
TEST(test_at_the_end_only_large_mappings_are_given_back)
{
	void *small, *large;
	int pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		small = cp_sys_map(8192);
		large = cp_sys_map(1 << 20);
		cp_sys_keep_pages();
		cp_sys_unmap(small, 8192);
		cp_sys_unmap(large, 1 << 20);
		_exit(!is_mapped(small) || is_mapped(large));
	}
	check_lives(pid);
}
