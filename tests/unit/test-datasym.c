/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables by address: this program's own, from its symbol table. */
#include "harness.h"

#include <link.h>
#include <stdint.h>

#include "symbols/symbols.h"

int test_global = 1;
int test_bss[100];
static struct {
	long a, b;
} test_static = { 1, 2 };

static uint64_t bias;

static int main_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	bias = info->dlpi_addr;
	return 1;
}

static uint64_t vaddr_of(const void *p)
{
	return (uint64_t)(uintptr_t)p - bias;
}

static void test_variables_are_found_where_they_lie(void)
{
	struct cp_datasym_query q[] = {
		{ .vaddr = vaddr_of(&test_static.b), .user = 0 },
		{ .vaddr = vaddr_of(&test_bss[99]), .user = 1 },
		{ .vaddr = vaddr_of(&test_global), .user = 2 },
		{ .vaddr = vaddr_of(&test_bss[0]), .user = 3 },
		{ .vaddr = vaddr_of((const void *)(uintptr_t)main_program), .user = 4 },
		{ .vaddr = UINT64_MAX, .user = 5 },
	};
	static const struct {
		const char *name;
		uint64_t offset;
	} want[] = { { "test_static", sizeof(long) },
		     { "test_bss", 99 * sizeof(int) },
		     { "test_global", 0 },
		     { "test_bss", 0 },
		     { NULL, 0 },
		     { NULL, 0 } };
	struct cp_arena names = { 0 };
	struct cp_elf e;

	CHECK_EQ(cp_elf_open(&e, "/proc/self/exe"), 0);
	CHECK_EQ(cp_datasym_find(&e, q, 6, &names), 0);
	for (int i = 0; i < 6; i++) {
		const char *name = want[q[i].user].name;

		if (!name) {
			CHECK(q[i].name == NULL);
			continue;
		}
		CHECK_STR(q[i].name, name);
		CHECK_EQ(q[i].vaddr - q[i].start, want[q[i].user].offset);
	}
	cp_elf_close(&e);
	cp_arena_release(&names);
}

static void test_no_queries_are_fine(void)
{
	struct cp_arena names = { 0 };
	struct cp_elf e;

	CHECK_EQ(cp_elf_open(&e, "/proc/self/exe"), 0);
	CHECK_EQ(cp_datasym_find(&e, NULL, 0, &names), 0);
	cp_elf_close(&e);
}

int main(void)
{
	dl_iterate_phdr(main_program, NULL);
	RUN(test_variables_are_found_where_they_lie);
	RUN(test_no_queries_are_fine);
	return harness_end();
}
