/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of kernel code; the store of names that processes share. */
#define OWN_MAIN
#include "harness.h"

#include "symbols/symbols.h"

static struct cp_arena names;

static int look(const char *text, struct cp_symbol_query *q, size_t n)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC), err;

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	lseek(fd, 0, SEEK_SET);
	err = cp_kallsyms_read(fd, q, n, &names);
	close(fd);
	return err;
}

TEST(test_a_symbol_reaches_to_the_next)
{
	struct cp_symbol_query q[] = { { .offset = 0xffffffff81000050 },
				       { .offset = 0xffffffff81000010 },
				       { .offset = 0xffffffff80ffffff },
				       { .offset = 0xffffffff81000020 } };

	CHECK_EQ(look("ffffffff81000010 T first\nffffffff81000020 t second\n"
		      "ffffffff81000060 T third\n",
		      q, 4),
		 0);
	CHECK(!q[0].name);
	CHECK_STR(q[1].name, "first");
	CHECK_STR(q[2].name, "second");
	CHECK_STR(q[3].name, "second");
	CHECK_EQ(q[3].start, 0xffffffff81000020);
}

TEST(test_data_names_no_code)
{
	struct cp_symbol_query q[] = { { .offset = 0xffffffff81000018 },
				       { .offset = 0xffffffff81000028 } };

	CHECK_EQ(look("ffffffff81000010 T code\nffffffff81000020 d data\n", q, 2), 0);
	CHECK_STR(q[0].name, "code");
	CHECK(!q[1].name);
}

TEST(test_of_several_names_the_first_is_taken)
{
	struct cp_symbol_query q = { .offset = 0xffffffff81000018 };

	CHECK_EQ(look("ffffffff81000010 T one\nffffffff81000010 T two\n", &q, 1), 0);
	CHECK_STR(q.name, "one");
}

TEST(test_modules_in_any_order)
{
	struct cp_symbol_query q[] = { { .offset = 0xffffffffc0000108 },
				       { .offset = 0xffffffffc0000208 },
				       { .offset = 0xffffffffc0100000 } };

	CHECK_EQ(
		look("ffffffffc0000200 t later\t[ext4]\nffffffffc0000100 t earlier\t[xfs]\n", q, 3),
		0);
	CHECK_STR(q[0].name, "earlier");
	CHECK_STR(q[1].name, "later");
	/* Far after the last symbol, so not part of it. */
	CHECK(!q[2].name);
}

TEST(test_reading_ends_when_all_are_named)
{
	struct cp_symbol_query q[] = { { .offset = 0xffffffff81000018 },
				       { .offset = 0xffffffff80000008 } };

	CHECK_EQ(look("ffffffff81000010 T core\nffffffff81000020 T next\n"
		      "ffffffff80000000 t below\t[module]\n",
		      q, 2),
		 0);
	CHECK_STR(q[0].name, "below");
	CHECK_STR(q[1].name, "core");
	CHECK_EQ(look("ffffffff81000010 T core\nffffffff81000020 T next\n"
		      "ffffffff81000014 t closer\t[module]\n",
		      &q[1], 1),
		 0);
	CHECK_STR(q[1].name, "core");
}

TEST(test_hidden_addresses_name_nothing)
{
	struct cp_symbol_query q[] = { { .offset = 0xffffffff81000018 }, { .offset = 0x10 } };

	CHECK_EQ(look("0000000000000000 T one\n0000000000000000 T two\n", q, 2), 0);
	CHECK(!q[0].name);
	CHECK(!q[1].name);
}

TEST(test_odd_lines_are_passed_over)
{
	struct cp_symbol_query q = { .offset = 0xffffffff81000018 };

	CHECK_EQ(look("\nxyz\nffffffff81000010\nffffffff81000010 \nffffffff81000010 T\n"
		      "ffffffff81000010 T \nffffffff81000010 T f",
		      &q, 1),
		 0);
	/* The last line has no end, so it may have been cut. */
	CHECK(!q.name);
}

TEST(test_a_long_file_is_read_in_pieces)
{
	enum { LINES = 20000 };
	char *text = malloc(LINES * 40), *p = text;
	struct cp_symbol_query q[] = { { .offset = 0xffffffff81000008 },
				       { .offset = 0xffffffff81000008 + 16 * (LINES - 1) } };
	char last[16];

	for (int i = 0; i < LINES; i++)
		p += sprintf(p, "%lx T f%d\n", 0xffffffff81000000 + 16 * (unsigned long)i, i);
	CHECK_EQ(look(text, q, 2), 0);
	CHECK_STR(q[0].name, "f0");
	sprintf(last, "f%d", LINES - 1);
	CHECK_STR(q[1].name, last);
	free(text);
}

TEST(test_what_a_child_found_its_parent_knows)
{
	struct cp_mapping m = { .path = "/lib/one.so", .inode = 7, .build_id_size = 1 };
	uint64_t one = cp_namecache_module(&m);
	struct cp_symbol_query found[] = { { .offset = 8, .name = "eight", .start = 6 },
					   { .offset = 16, .start = 14, .address = 1014 } };
	struct cp_symbol_query q[] = { { .offset = 1 }, { .offset = 16 }, { .offset = 8 } };
	pid_t child;

	cp_namecache_begin();
	child = fork();
	if (!child) {
		cp_namecache_keep(one, found, 2, false);
		_exit(0);
	}
	CHECK(waitpid(child, NULL, 0) == child);
	CHECK_EQ(cp_namecache_answer(one, q, 3, &names), 1);
	CHECK_EQ(q[0].offset, 1);
	for (int i = 1; i < 3; i++)
		if (q[i].offset == 8) {
			CHECK_STR(q[i].name, "eight");
			CHECK_EQ(q[i].start, 6);
		} else {
			CHECK(!q[i].name);
			CHECK_EQ(q[i].start, 14);
			CHECK_EQ(q[i].address, 1014);
		}
	m.inode = 8;
	CHECK(cp_namecache_module(&m) != one);
	m.anonymous = true;
	CHECK_EQ(cp_namecache_module(&m), 0);
}

TEST(test_a_full_store_of_names_stays_right)
{
	struct cp_symbol_query q = { .name = "a name of some length, so that the store is full" };
	uint64_t known = 0;

	for (q.offset = 0; q.offset < 20000; q.offset++)
		cp_namecache_keep(3, &q, 1, false);
	for (uint64_t i = 0; i < 20000; i++) {
		struct cp_symbol_query again = { .offset = i };

		known += !cp_namecache_answer(3, &again, 1, &names);
		CHECK(!again.name || !strcmp(again.name, q.name));
	}
	CHECK(known > 1000 && known < 20000);
}

int main(void)
{
	harness_all();
	cp_arena_release(&names);
	return harness_end();
}
