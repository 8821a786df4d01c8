/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of executable mappings. */
#include "harness.h"

#include <sys/auxv.h>

#include "symbols/symbols.h"

static uint64_t address_of(void (*f)(void))
{
	return (uint64_t)(uintptr_t)f;
}

static struct cp_mapping *mapping_of(struct cp_modules *m, uint64_t pc)
{
	return cp_modules_at(m, cp_modules_find(m, pc));
}

TEST(test_modules_find_own_code_libc_and_vdso)
{
	struct cp_modules m;
	struct cp_mapping *c;

	cp_modules_init(&m);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	c = mapping_of(&m, address_of(test_modules_find_own_code_libc_and_vdso));
	CHECK(c && c->main && c->live && strstr(c->path, "test-modules"));
	c = mapping_of(&m, (uint64_t)(uintptr_t)&getpid);
	CHECK(c && !c->main && strstr(c->path, "libc"));
	if (c) {
		cp_modules_identify(c);
		CHECK(c->build_id_size >= 8);
		CHECK(c->image && c->image < c->start + c->limit);
	}
	c = mapping_of(&m, getauxval(AT_SYSINFO_EHDR) + 64);
	CHECK(c && c->vdso && !strcmp(c->path, "[vdso]"));
	CHECK_EQ(cp_modules_find(&m, 16), CP_NO_MAPPING);
	cp_modules_release(&m);
}

TEST(test_modules_remember_a_mapping_that_went_away)
{
	size_t size = 1 << 16;
	void *p = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t pc = (uint64_t)(uintptr_t)p + 100;
	struct cp_modules m;
	uint32_t number;

	cp_modules_init(&m);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	number = cp_modules_find(&m, pc);
	CHECK(number != CP_NO_MAPPING);
	munmap(p, size);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	CHECK_EQ(cp_modules_find(&m, pc), number);
	CHECK(!cp_modules_at(&m, number)->live);
	CHECK_STR(cp_modules_at(&m, number)->path, "//anon");
	cp_modules_release(&m);
}

#define PAGE 65536 /* or several smaller ones */

/* Seen again at the very moment at which it can't be read, because it goes: still the same. */
TEST(test_modules_that_cannot_be_read_are_the_ones_that_were_there)
{
	int prot = PROT_READ | PROT_EXEC, flags = MAP_PRIVATE | MAP_FIXED, fd = -1, self;
	char *p = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cp_modules m;
	Dl_info info = { 0 };
	uint32_t number;

	if (dladdr((void *)(uintptr_t)&getpid, &info))
		fd = open(info.dli_fname, O_RDONLY);
	if (fd < 0 || mmap(p, PAGE, PROT_READ, flags, fd, 0) == MAP_FAILED ||
	    mmap(p + PAGE, PAGE, prot, flags, fd, PAGE) == MAP_FAILED)
		SKIP("libc's file can't be mapped");
	cp_modules_init(&m);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	number = cp_modules_find(&m, (uint64_t)(uintptr_t)p + PAGE);
	CHECK(number != CP_NO_MAPPING);
	cp_modules_identify(cp_modules_at(&m, number));
	CHECK(cp_modules_at(&m, number)->build_id_size != 0);
	/* Its place stays reserved: the list's own pages must not get there. */
	mmap(p + PAGE, PAGE, PROT_NONE, flags | MAP_ANONYMOUS, -1, 0);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	CHECK(!cp_modules_at(&m, number)->live);
	mprotect(p, PAGE, PROT_NONE);
	mmap(p + PAGE, PAGE, prot, flags, fd, PAGE);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	CHECK_EQ(cp_modules_find(&m, (uint64_t)(uintptr_t)p + PAGE), number);
	CHECK(cp_modules_at(&m, number)->live);
	/* And again, when another module is already where its first page was. */
	mmap(p + PAGE, PAGE, PROT_NONE, flags | MAP_ANONYMOUS, -1, 0);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	self = open("/proc/self/exe", O_RDONLY);
	CHECK(mmap(p, PAGE, PROT_READ, flags, self, 0) != MAP_FAILED);
	mmap(p + PAGE, PAGE, prot, flags, fd, PAGE);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	CHECK_EQ(cp_modules_find(&m, (uint64_t)(uintptr_t)p + PAGE), number);
	munmap(p, 2 * PAGE);
	close(self);
	close(fd);
	cp_modules_release(&m);
}

TEST(test_modules_that_the_kernel_splits_are_one_mapping)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	uint64_t start = (uint64_t)(uintptr_t)p;
	struct cp_modules m;
	uint32_t number;
	size_t before;

	cp_modules_init(&m);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	number = cp_modules_find(&m, start);
	before = m.mappings.count;
	CHECK(number != CP_NO_MAPPING);
	CHECK_EQ(madvise(p + PAGE, PAGE, MADV_DONTFORK), 0);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	CHECK_EQ(m.mappings.count, before);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(cp_modules_find(&m, start + i * PAGE), number);
	CHECK(cp_modules_at(&m, number)->live);
	/* The mapping that replaces a part doesn't belong to the file any more. */
	CHECK(mmap(p + PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == p + PAGE);
	CHECK_EQ(cp_modules_refresh(&m), 0);
	CHECK_STR(mapping_of(&m, start + PAGE)->path, "//anon");
	CHECK(strstr(mapping_of(&m, start)->path, "test-modules"));
	CHECK(strstr(mapping_of(&m, start + 2 * PAGE)->path, "test-modules"));
	munmap(p, 3 * PAGE);
	close(fd);
	cp_modules_release(&m);
}
