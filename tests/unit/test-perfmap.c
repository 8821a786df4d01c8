/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of JIT code. */
#define OWN_MAIN
#include "harness.h"

#include "symbols/symbols.h"

static struct cp_arena names;

static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	CHECK(write(fd, text, n) == (ssize_t)n);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int look(const char *text, uint64_t base, struct cp_symbol_query *q, size_t n)
{
	int fd = file_of(text, strlen(text)), err = cp_perfmap_read(fd, base, q, n, &names);

	close(fd);
	return err;
}

TEST(test_addresses_get_the_name_of_their_range)
{
	struct cp_symbol_query q[] = { { .offset = 0x120 },
				       { .offset = 0x0 },
				       { .offset = 0xff },
				       { .offset = 0x100 },
				       { .offset = 0x200 } };

	CHECK_EQ(look("10000 100 LazyCompile:*f /a b.js:1\n10100 80 g\n", 0x10000, q, 5), 0);
	CHECK_EQ(q[0].offset, 0);
	CHECK_STR(q[0].name, "LazyCompile:*f /a b.js:1");
	CHECK_STR(q[1].name, "LazyCompile:*f /a b.js:1");
	CHECK_STR(q[2].name, "g");
	CHECK_EQ(q[2].start, 0x100);
	CHECK_STR(q[3].name, "g");
	CHECK(!q[4].name);
}

TEST(test_numbers_may_have_a_prefix)
{
	struct cp_symbol_query q[] = { { .offset = 4 }, { .offset = 0x24 }, { .offset = 0x44 } };

	CHECK_EQ(look("0x1000 0x10 $lists:seq/2\n1020 0x10 mixed\n0xx40 10 x\n", 0x1000, q, 3), 0);
	CHECK_STR(q[0].name, "$lists:seq/2");
	CHECK_STR(q[1].name, "mixed");
	CHECK(!q[2].name);
}

TEST(test_a_later_line_wins)
{
	struct cp_symbol_query q = { .offset = 4 };

	CHECK_EQ(look("1000 10 old\n1000 8 new\n", 0x1000, &q, 1), 0);
	CHECK_STR(q.name, "new");
}

TEST(test_a_range_may_begin_before_the_mapping)
{
	struct cp_symbol_query q[] = { { .offset = 0 }, { .offset = 8 } };

	CHECK_EQ(look("ff8 10 across\n", 0x1000, q, 2), 0);
	CHECK_STR(q[0].name, "across");
	CHECK(!q[1].name);
}

TEST(test_nonsense_is_passed_over)
{
	struct cp_symbol_query q = { .offset = 4 };

	CHECK_EQ(look("\n \nzzz\n1000\n1000 10\n1000 10 \n1000 fffffffffffffffff x\n"
		      "ffffffffffffffff ffffffffffffffff y\n1000 10 good\n1000 10 unfinished",
		      0x1000, &q, 1),
		 0);
	CHECK_STR(q.name, "good");
}

TEST(test_endless_lines_are_passed_over)
{
	struct cp_symbol_query q = { .offset = 4 };
	size_t n = 300000;
	char *text = malloc(n);
	int fd;

	memset(text, 'a', n);
	memcpy(text + n - 14, "\n1000 10 good\n", 14);
	fd = file_of(text, n);
	CHECK_EQ(cp_perfmap_read(fd, 0x1000, &q, 1, &names), 0);
	CHECK_STR(q.name, "good");
	close(fd);
	free(text);
}

int main(void)
{
	harness_all();
	cp_arena_release(&names);
	return harness_end();
}
