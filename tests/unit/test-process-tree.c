/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner of a profile's name, as the environment tells it. */
#include "harness.h"

#include <limits.h>
#include <unistd.h>

#include "host/host.h"
#include "output/output.h"

static char cwd[PATH_MAX];

static void read_from(struct cp_process_tree *l, char **environment)
{
	cp_process_tree_read(l, environment);
}

static void test_tree_first_process_owns_the_name(void)
{
	char *environment[] = { "A=1", "CPUPROFILE=x.pb", NULL };
	struct cp_process_tree l;

	read_from(&l, environment);
	CHECK(l.owner);
	CHECK_EQ(l.sequence, 0);
	CHECK_STR(l.base, cwd);
	CHECK_STR(environment[1], "CPUPROFILE=x.pb");
	CHECK(environment[2] == NULL);
}

static void test_tree_child_is_no_owner_and_keeps_the_base(void)
{
	struct cp_process_tree parent = { .owner = true,
					  .sequence = 3,
					  .start_ns = 12345,
					  .base = "/somewhere" },
			       l;
	char told[CP_PATH_MAX + 64];
	char *environment[] = { "A=1", told, "B=2", NULL };

	cp_process_tree_write(&parent, 0, 0, told, sizeof(told));
	read_from(&l, environment);
	CHECK(!l.owner);
	CHECK_EQ(l.sequence, 0);
	CHECK(!l.execed);
	CHECK(l.start_ns > 12345);
	CHECK_STR(l.base, "/somewhere");
}

static void test_tree_exec_goes_on_as_what_it_was(void)
{
	struct cp_process_tree before = { .owner = true,
					  .sequence = 2,
					  .start_ns = 12345,
					  .base = "/a b/c" },
			       l;
	char told[CP_PATH_MAX + 64];
	char *environment[] = { told, NULL };

	cp_process_tree_write(&before, getpid(), before.sequence, told, sizeof(told));
	read_from(&l, environment);
	CHECK(l.owner);
	CHECK_EQ(l.sequence, 2);
	CHECK(l.execed);
	CHECK_EQ(l.start_ns, 12345);
	CHECK_STR(l.base, "/a b/c");

	before.owner = false;
	cp_process_tree_write(&before, getpid(), before.sequence, told, sizeof(told));
	environment[0] = told;
	read_from(&l, environment);
	CHECK(!l.owner);
	CHECK_EQ(l.sequence, 2);
}

static void test_tree_program_never_sees_the_variable(void)
{
	char *environment[] = { "A=1",
				CP_PROCESS_TREE_VARIABLE "=1 0 0 7 /x",
				"B=2",
				CP_PROCESS_TREE_VARIABLE "=2 0 0 7 /y",
				CP_PROCESS_TREE_VARIABLE "X=z",
				NULL };
	struct cp_process_tree l;

	read_from(&l, environment);
	CHECK_STR(environment[0], "A=1");
	CHECK_STR(environment[1], "B=2");
	CHECK_STR(environment[2], CP_PROCESS_TREE_VARIABLE "X=z");
	CHECK(environment[3] == NULL);
}

static void test_tree_nonsense_counts_as_none(void)
{
	static const char *const bad[] = {
		"",	     "x",	    "1",
		"1 1 1 1",   "1 1 1 1 x",   "1 1 1 /x",
		"1 1 1 1/x", "-1 1 1 1 /x", "1  1 1 1 /x",
		"1 1 ",	     "1 1 1 -1 /x", "99999999999999999999 1 1 1 /x"
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[128];
		char *environment[] = { text, NULL };
		struct cp_process_tree l;

		snprintf(text, sizeof(text), CP_PROCESS_TREE_VARIABLE "=%s", bad[i]);
		read_from(&l, environment);
		CHECK(l.owner);
		CHECK_STR(l.base, cwd);
		CHECK(environment[0] == NULL);
	}
}

static void test_tree_without_an_environment(void)
{
	char *environment[] = { NULL };
	struct cp_process_tree l;

	read_from(&l, environment);
	CHECK(l.owner);
	cp_process_tree_read(&l, NULL);
	CHECK(l.owner);
}

int main(void)
{
	if (!getcwd(cwd, sizeof(cwd)))
		return 1;
	cp_mode_ops_set(cp_modes);
	RUN(test_tree_first_process_owns_the_name);
	RUN(test_tree_child_is_no_owner_and_keeps_the_base);
	RUN(test_tree_exec_goes_on_as_what_it_was);
	RUN(test_tree_program_never_sees_the_variable);
	RUN(test_tree_nonsense_counts_as_none);
	RUN(test_tree_without_an_environment);
	return harness_end();
}
