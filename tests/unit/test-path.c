/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of profile files. */
#include "harness.h"

#include "settings/settings.h"

static const char *variable(const char *name)
{
	return !strcmp(name, "JOB") ? "7/%p" : NULL;
}

static const struct cp_path_facts facts = {
	.variable = variable,
	.pid = 1234,
	.program = "app",
	.host = "box",
	.start_time = 1709210096, /* 2024-02-29 12:34:56 */
};

static const char *expand_with(const char *template, const char *cwd, const struct cp_path_facts *f)
{
	static char got[256];
	bool has_pid;

	CHECK_EQ(cp_path_expand(got, sizeof(got), template, cwd, f, &has_pid), 0);
	return got;
}

static const char *expand(const char *template)
{
	return expand_with(template, "/home/me", &facts);
}

static const char *number(const char *path, unsigned n)
{
	static char got[256];

	CHECK_EQ(cp_path_number(got, sizeof(got), path, n), 0);
	return got;
}

TEST(test_expand_replaces_each_item)
{
	CHECK_STR(expand("/t/%p"), "/t/1234");
	CHECK_STR(expand("/t/%e-%h.%p.pb"), "/t/app-box.1234.pb");
	CHECK_STR(expand("/t/%t.pb"), "/t/20240229-123456.pb");
	CHECK_STR(expand("/t/%q%"), "/t/%q%");
	CHECK_STR(expand("/t/%n.%%"), "/t/%n.%%");
}

TEST(test_expand_has_variables)
{
	CHECK_STR(expand("/t/%q{JOB}.pb"), "/t/7_%%p.pb");
	CHECK_STR(expand("/t/a%q{NONE}b.pb"), "/t/ab.pb");
	CHECK_STR(expand("/t/%q{}.pb"), "/t/%q{}.pb");
	CHECK_STR(expand("/t/%q{JOB"), "/t/%q{JOB");
}

TEST(test_expand_tells_whether_the_pid_occurred)
{
	char got[64];
	bool has_pid = false;

	CHECK_EQ(cp_path_expand(got, sizeof(got), "/a%p", "/", &facts, &has_pid), 0);
	CHECK(has_pid);
	CHECK_EQ(cp_path_expand(got, sizeof(got), "/a%%p", "/", &facts, &has_pid), 0);
	CHECK(!has_pid);
}

TEST(test_expand_makes_the_path_absolute)
{
	CHECK_STR(expand("out.pb"), "/home/me/out.pb");
	CHECK_STR(expand("./././out.pb"), "/home/me/out.pb");
	CHECK_STR(expand("../out.pb"), "/home/me/../out.pb");
	CHECK_STR(expand_with("out.pb", "/", &facts), "/out.pb");
}

TEST(test_expand_keeps_names_from_adding_items_or_directories)
{
	struct cp_path_facts odd = facts;

	odd.program = "a/%n";
	CHECK_STR(expand_with("%e.pb", "/x%p", &odd), "/x%%p/a_%%n.pb");
	CHECK_STR(number(expand_with("%e.%n.pb", "/x%n", &odd), 3), "/x%n/a_%n.0003.pb");
	CHECK_STR(number("/t/100%%n", 0), "/t/100%n");
}

TEST(test_expand_appends_the_rank_without_a_pid)
{
	struct cp_path_facts ranked = facts;

	ranked.rank = "7";
	CHECK_STR(expand_with("/t/out.pb", "/", &ranked), "/t/out.pb.rank-7");
	CHECK_STR(expand_with("/t/out.%p", "/", &ranked), "/t/out.1234");
}

TEST(test_expand_knows_the_calendar)
{
	static const struct {
		uint64_t t;
		const char *text;
	} days[] = {
		{ 0, "/19700101-000000" },	    { 951782399, "/20000228-235959" },
		{ 951782400, "/20000229-000000" },  { 951868800, "/20000301-000000" },
		{ 1735689599, "/20241231-235959" }, { 1735689600, "/20250101-000000" },
		{ 4107542400, "/21000301-000000" }, { 253402300799, "/99991231-235959" },
	};

	for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
		struct cp_path_facts f = facts;

		f.start_time = days[i].t;
		CHECK_STR(expand_with("/%t", "/", &f), days[i].text);
	}
}

TEST(test_infix_goes_before_the_extension)
{
	char path[64] = "/t/out.pb.gz";

	CHECK_EQ(cp_path_infix(path, sizeof(path), path, "peak"), 0);
	CHECK_STR(path, "/t/out.peak.pb.gz");
	CHECK_EQ(cp_path_infix(path, sizeof(path), "/t.d/out", "peak"), 0);
	CHECK_STR(path, "/t.d/out.peak");
	CHECK_EQ(cp_path_infix(path, 12, "/t.d/out", "peak"), -ENAMETOOLONG);
	CHECK_STR(path, "/t.d/out.peak");
}

TEST(test_number_goes_before_the_extension)
{
	CHECK_STR(number("/t/out.pb", 1), "/t/out.0001.pb");
	CHECK_STR(number("/t/out", 12), "/t/out.0012");
	CHECK_STR(number("/t/out.pb.gz", 2), "/t/out.0002.pb.gz");
	CHECK_STR(number("/t/a.b.pprof.gz", 2), "/t/a.b.0002.pprof.gz");
	CHECK_STR(number("/t/out.tar.gz", 2), "/t/out.tar.0002.gz");
	CHECK_STR(number("/t/.pb", 2), "/t/.pb.0002");
	CHECK_STR(number("/t/.pb.gz", 2), "/t/.pb.0002.gz");
	CHECK_STR(number("/t.d/out", 12345), "/t.d/out.12345");
	CHECK_STR(number("/t/out.pb", 0), "/t/out.pb");
}

TEST(test_number_has_its_place)
{
	CHECK_STR(number("/t/%n/out.pb", 7), "/t/0007/out.pb");
	CHECK_STR(number("/t/out-%n.pb", 7), "/t/out-0007.pb");
	CHECK_STR(number("/t/out.%n", 7), "/t/out.0007");
	CHECK_STR(number("/t/%%n%n", 7), "/t/%n0007");
	CHECK_STR(number("/t/50%", 7), "/t/50%.0007");
}

TEST(test_number_zero_removes_its_place)
{
	CHECK_STR(number("/t/out.%n.pb", 0), "/t/out.pb");
	CHECK_STR(number("/t/out-%n.pb", 0), "/t/out.pb");
	CHECK_STR(number("/t/out_%n", 0), "/t/out");
	CHECK_STR(number("/t/out%n.pb", 0), "/t/out.pb");
}

TEST(test_number_zero_leaves_a_name)
{
	CHECK_STR(number("/t/%n", 0), "/t/0000");
	CHECK_STR(number("/t/%n.pb", 0), "/t/0000.pb");
	CHECK_STR(number("/t/%n/out.pb", 0), "/t/0000/out.pb");
	CHECK_STR(number("/t/.%n.pb", 0), "/t/.0000.pb");
}

TEST(test_process_is_appended)
{
	char got[32] = "/t/out.pb";

	CHECK_EQ(cp_path_process(got, sizeof(got), got, 55, 1), 0);
	CHECK_STR(got, "/t/out.pb.55");
	CHECK_EQ(cp_path_process(got, sizeof(got), "/o", 55, 3), 0);
	CHECK_STR(got, "/o.55.3");
}

/* Every size that is too small, and the first that is not. */
TEST(test_too_small_a_buffer_stays_untouched)
{
	char got[32];
	bool has_pid;

	for (size_t size = 0; size <= 11; size++) {
		int want = size < 11 ? -ENAMETOOLONG : 0;

		strcpy(got, "before");
		CHECK_EQ(cp_path_expand(got, size, "%e-%p.", "/", &facts, &has_pid), want);
		CHECK_STR(got, want ? "before" : "/app-1234.");
		strcpy(got, "before");
		CHECK_EQ(cp_path_number(got, size, "/ab.p", 1), want);
		CHECK_STR(got, want ? "before" : "/ab.0001.p");
		strcpy(got, "before");
		CHECK_EQ(cp_path_process(got, size, "/a.pb", 1234, 1), want);
		CHECK_STR(got, want ? "before" : "/a.pb.1234");
	}
}

TEST(test_marks_of_gperftools_are_told_from_utf8)
{
	CHECK_EQ(cp_path_first("/a"), '/');
	CHECK_EQ(cp_path_first("\xaf"
			       "a"),
		 '/');
	CHECK_EQ(cp_path_first("\xef\xc3\xa9"), 'o'); /* "o" before "é" */
	CHECK_EQ(cp_path_first("\xc3\xa9"), '\xc3');
	CHECK_EQ(cp_path_first("\xaf"), '/');
	/* No sequence begins with such a byte, also before a name that isn't UTF-8. */
	CHECK_EQ(cp_path_first("\xaf\x84"), '/');
	CHECK_EQ(cp_path_first(""), '\0');
	CHECK(cp_path_same("/a", "\xaf"
				 "a"));
	CHECK(cp_path_same("", ""));
	CHECK(!cp_path_same("/a", "/b"));
	CHECK(!cp_path_same("/a", ""));
}
