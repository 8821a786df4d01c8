/* SPDX-License-Identifier: BSD-3-Clause */
/* The sums of resident memory, from texts as smaps has them. */
#include "harness.h"

#include <errno.h>

#include "modes/heap/heap.h"
#include "modes/heap/allocator.h"

static struct cp_memory_table table;

static void add(const char *start, const char *end, const char *perms, const char *path,
		unsigned kb)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%s-%s %s 00000000 fe:00 %d   %s\nSize: 9999 kB\nRss:   %u kB\nSwap:  1 kB\n"
		 "VmFlags: rd wr\n",
		 start, end, perms, *path == '/' ? 77 : 0, path, kb);
	CHECK_EQ(cp_memory_table_add(&table, text), 0);
}

static struct cp_memory_sums sums(void)
{
	struct cp_memory_sums s;

	cp_memory_table_sum(&table, &s);
	cp_memory_table_release(&table);
	return s;
}

TEST(test_each_mapping_has_its_kind)
{
	struct cp_memory_sums s;

	table.is_glibc = true;
	table.own_path = "/opt/libcprof.so";
	add("55550000", "55551000", "r-xp", "/usr/bin/app", 1);
	add("55551000", "55552000", "rw-p", "/usr/bin/app", 2);
	add("55552000", "55560000", "rw-p", "", 4); /* its zeroed data */
	add("55570000", "55580000", "rw-p", "[heap]", 8);
	add("7f0000000000", "7f0000100000", "rw-p", "", 16); /* an arena */
	add("7f0010200000", "7f0010300000", "rw-p", "", 32); /* with a block: a large one */
	add("7f0010400000", "7f0010500000", "rw-p", "", 64); /* without a block */
	add("7f0010600000", "7f0010700000", "rw-s", "/memfd:x (deleted)", 128);
	add("7f0010800000", "7f0010900000", "r-xp", "/opt/libcprof.so", 256);
	add("7ffc00000000", "7ffc00100000", "rw-p", "[stack]", 512);
	add("7ffd00000000", "7ffd00100000", "r-xp", "[vdso]", 1024);
	cp_memory_table_mark(&table, 0x7f0010200010);
	cp_memory_table_mark(&table, 0x7f00102fffff);
	cp_memory_table_mark(&table, 0x7f0010300000); /* in no mapping */
	cp_memory_table_mark(&table, 0x10);
	s = sums();
	CHECK_EQ(s.resident[CP_MEMORY_FILES], (1 + 2 + 4 + 1024) << 10);
	CHECK_EQ(s.resident[CP_MEMORY_HEAP], (8 + 16 + 32) << 10);
	CHECK_EQ(s.resident[CP_MEMORY_ANONYMOUS], 64 << 10);
	CHECK_EQ(s.resident[CP_MEMORY_SHARED], 128 << 10);
	CHECK_EQ(s.resident[CP_MEMORY_OWN], 256 << 10);
	CHECK_EQ(s.resident[CP_MEMORY_STACKS], 512 << 10);
	CHECK_EQ(s.swapped, 11 << 10);
}

TEST(test_odd_text_does_no_harm)
{
	char odd[] = "Rss: 1 kB\n\n-\nffff\n1-2\nRss:\nRss: x\n12-13 rw-p\nRss: 4 kB\n";

	CHECK_EQ(cp_memory_table_add(&table, odd), 0);
	CHECK_EQ(sums().resident[CP_MEMORY_ANONYMOUS], 4 << 10);
}

TEST(test_the_own_process_is_read)
{
	struct cp_modules modules;
	struct cp_memory_sums s;

	cp_modules_init(&modules);
	CHECK_EQ(cp_modules_refresh(&modules), 0);
	CHECK_EQ(cp_memory_table_read(&table, &modules, true), 0);
	s = sums();
	CHECK(s.resident[CP_MEMORY_FILES] > 100 << 10);
	CHECK(s.resident[CP_MEMORY_STACKS] > 0);
}

TEST(test_a_process_of_very_many_threads_is_not_read)
{
	struct cp_modules modules;

	cp_modules_init(&modules);
	for (uint64_t i = 1; i <= 2001; i++) {
		struct cp_thread *t = cp_thread_claim();

		t->stack_high = i << 20;
		t->state = CP_THREAD_LIVE;
	}
	CHECK_EQ(cp_memory_table_read(&table, &modules, true), -E2BIG);
}

/* Of four pages the second and third are written to; the block begins and ends within a page. */
TEST(test_pages_are_told_apart)
{
	struct cp_resident r;
	uint64_t is[CP_RESIDENT_KINDS];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p =
		mmap(NULL, 1000 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	madvise(p, 1000 * page, MADV_NOHUGEPAGE);
	p[page] = p[2 * page] = p[990 * page] = 1;
	CHECK_EQ(cp_heap_views_resident_open(&r), 0);
	CHECK_EQ(cp_heap_views_resident_of(&r, (uintptr_t)p + 100, 4 * page - 200, is), 0);
	CHECK_EQ(is[CP_RESIDENT] + is[CP_RESIDENT_SWAPPED], 2 * page);
	CHECK_EQ(is[CP_RESIDENT_UNTOUCHED], 2 * page - 200);
	CHECK_EQ(cp_heap_views_resident_of(&r, (uintptr_t)p, 1000 * page, is), 0);
	CHECK_EQ(is[CP_RESIDENT] + is[CP_RESIDENT_SWAPPED], 3 * page);
	CHECK_EQ(cp_heap_views_resident_of(&r, (uintptr_t)p + page + 5, 10, is), 0);
	CHECK_EQ(is[CP_RESIDENT] + is[CP_RESIDENT_SWAPPED], 10);
	cp_heap_views_resident_close(&r);
	munmap(p, 1000 * page);
}

/* Sizes and what the allocators give for them, from their own malloc_usable_size. */
TEST(test_sizes_are_rounded_as_allocators_do)
{
	static const uint64_t glibc[][3] = {
		{ 1, 24, 0x10 },   { 24, 24, 0x10 },	 { 25, 40, 0x10 },
		{ 91, 104, 0x10 }, { 1092, 1096, 0x10 }, { 131072, 131080, 0x10020 },
	};
	static const uint64_t jemalloc[][2] = { { 1, 8 },	   { 8, 8 },	   { 9, 16 },
						{ 91, 96 },	   { 128, 128 },   { 129, 160 },
						{ 273, 320 },	   { 320, 320 },   { 321, 384 },
						{ 1001, 1024 },	   { 1025, 1280 }, { 21398, 24576 },
						{ 228919, 229376 } };
	const uint64_t page = cp_pages_kernel();

	for (unsigned i = 0; i < sizeof(glibc) / sizeof(*glibc); i++)
		CHECK_EQ(cp_heap_views_usable_glibc(glibc[i][0], glibc[i][2]), glibc[i][1]);
	/* Mapped, in whole pages. */
	CHECK_EQ(cp_heap_views_usable_glibc(131072, 0x10010), 131072 + page - 16);
	CHECK_EQ(cp_heap_views_usable_glibc(64 * page - 17, 0x10010), 64 * page - 16);
	for (unsigned i = 0; i < sizeof(jemalloc) / sizeof(*jemalloc); i++)
		CHECK_EQ(cp_heap_views_usable_jemalloc(jemalloc[i][0]), jemalloc[i][1]);
}
