/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/core/json.c, out.c, source.c: the output is safe, and so are the files that are read for
 * it. */
#include <sys/stat.h>

#define OWN_MAIN
#include "harness.h"
#include "core/core.h"
#include "core/model.h"

static char *text;
static size_t size;

static FILE *begin(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &size);
}

static void check_quoted(const char *from, const char *want)
{
	FILE *to = begin();

	ct_json_quote(to, from);
	fclose(to);
	CHECK_STR(text, want);
}

TEST(test_json_text_is_valid)
{
	check_quoted("main", "\"main\"");
	check_quoted("a\"b\\c", "\"a\\\"b\\\\c\"");
	check_quoted("tab\tline\n\x1b[0m\x7f", "\"tab\\u0009line\\u000a\\u001b[0m\\u007f\"");
	check_quoted("µ→😀", "\"µ→😀\"");
	check_quoted("\xff\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	check_quoted("cut\xe2\x82", "\"cut\xef\xbf\xbd\xef\xbf\xbd\"");
	check_quoted("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* a surrogate */
}

TEST(test_json_has_its_commas)
{
	FILE *to = begin();
	struct ct_json j = ct_json_to(to);

	ct_json_open(&j, NULL, '{');
	ct_json_integer(&j, "a", INT64_MIN);
	ct_json_open(&j, "list", '[');
	ct_json_number(&j, NULL, 0.5);
	ct_json_number(&j, NULL, 1.0 / 0.0);
	ct_json_open(&j, NULL, '[');
	ct_json_close(&j, ']');
	ct_json_close(&j, ']');
	ct_json_hex(&j, "at", UINT64_MAX);
	ct_json_bool(&j, "yes", true);
	ct_json_close(&j, '}');
	fclose(to);
	for (char *c = text, *d = text;; c++) /* the layout is nobody's business */
		if (*c != ' ' && *c != '\n' && !(*d++ = *c))
			break;
	CHECK_STR(text, "{\"a\":-9223372036854775808,\"list\":[0.5,null,[]],"
			"\"at\":\"0xffffffffffffffff\",\"yes\":true}");
}

static void check_printed(const char *from, const char *want)
{
	FILE *to = begin();

	ct_out_text(to, from);
	fclose(to);
	CHECK_STR(text, want);
}

TEST(test_a_terminal_is_not_driven_by_names)
{
	check_printed("main\tx", "main\tx");
	check_printed("\x1b]0;title\x07", "?]0;title?");
	check_printed("a\rb\nc\x7f", "a?b?c?");
	check_printed("\xc2\x9b"
		      "31m",
		      "?31m");
	check_printed("µ→😀", "µ→😀");
}

static char directory[] = "/tmp/test-tool-output.XXXXXX";

static char *in_directory(const char *name)
{
	static char path[2][256];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", directory, name);
	return path[turn];
}

static void write_file(const char *path, const char *content)
{
	FILE *to = fopen(path, "w");

	CHECK(to && fputs(content, to) >= 0 && !fclose(to));
}

TEST(test_sources_are_found)
{
	struct ct_source s;

	mkdir(in_directory("project"), 0700);
	mkdir(in_directory("project/src"), 0700);
	write_file(in_directory("project/src/a.c"), "one\ntwo\n\nfour");
	CHECK_EQ(ct_source_read(&s, in_directory("project/src/a.c"), NULL, NULL), 0);
	CHECK_EQ(s.count, 4);
	CHECK_STR(s.lines[2], "two");
	CHECK_STR(s.lines[4], "four");
	ct_source_release(&s);
	CHECK_EQ(ct_source_read(&s, "src/a.c", in_directory("project"), NULL), 0);
	ct_source_release(&s);
	/* In a parent of the search path. */
	CHECK_EQ(ct_source_read(&s, "project/src/a.c", in_directory("project/src"), NULL), 0);
	ct_source_release(&s);
	/* The tree was built elsewhere. */
	CHECK_EQ(ct_source_read(&s, "/build/project/src/a.c", in_directory("project"), NULL), 0);
	ct_source_release(&s);
	CHECK_EQ(ct_source_read(&s, "/other/src/a.c", in_directory("project"), "/build:/other"), 0);
	ct_source_release(&s);
	CHECK_EQ(ct_source_read(&s, "/others/src/a.c", in_directory("project"), "/other"), -ENOENT);
	CHECK_EQ(ct_source_read(&s, "src/none.c", in_directory("project"), NULL), -ENOENT);
}

TEST(test_only_regular_files_are_read)
{
	struct ct_source s;

	CHECK_EQ(mkfifo(in_directory("fifo"), 0600), 0);
	CHECK_EQ(ct_source_read(&s, in_directory("fifo"), NULL, NULL), -EINVAL);
	CHECK_EQ(ct_source_read(&s, directory, NULL, NULL), -EINVAL);
	CHECK_EQ(ct_source_read(&s, "/dev/zero", NULL, NULL), -EINVAL);
	write_file(in_directory("huge"), "");
	CHECK_EQ(truncate(in_directory("huge"), 65 << 20), 0);
	CHECK_EQ(ct_source_read(&s, in_directory("huge"), NULL, NULL), -EFBIG);
	write_file(in_directory("empty"), "");
	CHECK_EQ(ct_source_read(&s, in_directory("empty"), NULL, NULL), 0);
	CHECK_EQ(s.count, 0);
	ct_source_release(&s);
}

int main(void)
{
	static const char *const made[] = {
		"project/src/a.c", "project/src", "project", "fifo", "huge", "empty"
	};

	if (!mkdtemp(directory))
		return 99;
	harness_all();
	for (unsigned i = 0; i < sizeof(made) / sizeof(*made); i++)
		remove(in_directory(made[i]));
	rmdir(directory);
	free(text);
	return harness_end();
}
