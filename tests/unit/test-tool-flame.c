/* SPDX-License-Identifier: BSD-3-Clause */
/* flame, folded, convert, diff: names as text, frames, the tree, and the test of significance. */
#include <math.h>

#include "diff/diff.h"
#include "flame/flame.h"
#include "harness.h"

/* The output of a writer, until the next call. */
static char written[4096];

static FILE *begin(void)
{
	memset(written, 0, sizeof(written));
	return fmemopen(written, sizeof(written) - 1, "w");
}

static const char *as_json(const char *text)
{
	FILE *to = begin();

	ct_flame_text_json(to, text);
	fclose(to);
	return written;
}

static const char *as_markup(const char *text)
{
	FILE *to = begin();

	ct_flame_text_markup(to, text, strlen(text));
	fclose(to);
	return written;
}

TEST(test_json_holds_no_markup)
{
	CHECK_STR(as_json("plain ::name"), "\"plain ::name\"");
	CHECK_STR(as_json("</script>"), "\"\\u003c/script\\u003e\"");
	CHECK_STR(as_json("\"\\'&\n\x7f"), "\"\\u0022\\u005c\\u0027\\u0026\\u000a\\u007f\"");
	CHECK_STR(as_json("\xe2\x80\xa8\xe2\x80\xa9"), "\"\\u2028\\u2029\"");
	CHECK_STR(as_json("\xe6\xbc\xa2\xf0\x9f\x94\xa5"), "\"\xe6\xbc\xa2\xf0\x9f\x94\xa5\"");
}

TEST(test_bytes_that_are_no_utf8_are_replaced)
{
	CHECK_STR(as_json("a\xff"), "\"a\\ufffd\"");
	CHECK_STR(as_json("\xc0\xaf"), "\"\\ufffd\\ufffd\"");		 /* overlong */
	CHECK_STR(as_json("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
	CHECK_STR(as_json("\xf4\x90\x80\x80x"), "\"\\ufffd\\ufffd\\ufffd\\ufffdx\"");
	CHECK_STR(as_json("\xe6\xbc"), "\"\\ufffd\\ufffd\""); /* cut */
}

TEST(test_markup_is_what_xml_can_hold)
{
	CHECK_STR(as_markup("a<b>&\"'"), "a&#60;b&#62;&#38;&#34;&#39;");
	CHECK_STR(as_markup("\x01\xe2\x80\xae\xff"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void check_shorter(const char *name, const char *plain, const char *last)
{
	char *one = ct_flame_text_shorter(name, 1), *two = ct_flame_text_shorter(name, 2);

	CHECK_STR(one, plain);
	CHECK_STR(two, last);
	free(one);
	free(two);
}

TEST(test_names_get_shorter)
{
	check_shorter("std::map<int, pair<a, b> >::find", "std::map::find", "find");
	check_shorter("std::less<int>::operator()", "std::less::operator()", "operator()");
	check_shorter("runtime/pprof.Start", "runtime/pprof.Start", "pprof.Start");
	check_shorter("main", "main", "main");
	check_shorter("", "", "");
}

/* main calls work calls main: [leaf] work main work main. */
static struct ct_profile *recursive(int64_t value)
{
	struct ct_profile *p = ct_model_new();
	uint32_t frames[4];

	ct_model_add_type(
		p, (struct ct_type){ ct_model_string(p, "samples"), ct_model_string(p, "count") });
	for (uint32_t i = 0; i < 2; i++) {
		struct ct_function f = { .name = ct_model_string(p, i ? "main" : "work") };
		struct ct_line line = { .function = ct_model_add_function(p, &f) };
		struct ct_location l = { .address = i + 1, .mapping = CT_NONE };

		frames[i] = frames[i + 2] = ct_model_add_location(p, &l, &line, 1);
	}
	ct_model_add_sample(p, frames, 4, &value, 0);
	ct_model_add_sample(p, frames + 2, 2, &value, 0);
	return p;
}

TEST(test_tree_is_depth_first)
{
	struct ct_profile *p = recursive(3);
	struct ct_frames frames;
	struct ct_frames_of of;
	struct ct_tree tree;

	ct_flame_frames_init(&frames, CT_BY_FUNCTION);
	ct_flame_frames_take(&frames, p, &of);
	ct_flame_tree_init(&tree, 1);
	ct_flame_tree_add(&tree, &(struct ct_tree_source){ .of = &of, .frames = &frames });
	ct_flame_tree_order(&tree);
	CHECK_EQ(frames.count, 2);
	CHECK_EQ(tree.node_count, 5);
	for (uint32_t i = 1; i < tree.node_count; i++)
		CHECK_EQ(tree.nodes[i].parent, i - 1);
	CHECK_EQ(tree.row_count, 2);
	CHECK_EQ(tree.rows[0].node, 2);
	CHECK_EQ(tree.rows[1].node, 4);
	CHECK_EQ(tree.values[1], 3);
	ct_flame_tree_release(&tree);
	ct_flame_frames_of_release(&of);
	ct_flame_frames_release(&frames);
	ct_model_free(p);
}

/* A profile of `main`, into which `inner` is inlined or not: sources below DIRECTORY, program
 * PROGRAM. */
static struct ct_profile *built(const char *directory, const char *program, bool inlined)
{
	struct ct_profile *p = ct_model_new();
	char file[64];
	struct ct_mapping mapping = { .file = ct_model_string(p, program) };
	uint32_t module = ct_model_add_mapping(p, &mapping), frames[2];
	struct ct_line lines[2];
	int64_t value = 1;

	ct_model_add_type(
		p, (struct ct_type){ ct_model_string(p, "samples"), ct_model_string(p, "count") });
	snprintf(file, sizeof(file), "%s/app.c", directory);
	for (uint32_t i = 0; i < 2; i++) {
		struct ct_function f = { .name = ct_model_string(p, i ? "main" : "inner"),
					 .filename = ct_model_string(p, file) };

		lines[i] = (struct ct_line){ .function = ct_model_add_function(p, &f) };
	}
	for (uint32_t i = 0; i < (inlined ? 1 : 2); i++) {
		struct ct_location l = { .address = i + 1, .mapping = module };

		frames[i] = ct_model_add_location(p, &l, lines + i, inlined ? 2 : 1);
	}
	ct_model_add_sample(p, frames, inlined ? 1 : 2, &value, 0);
	return p;
}

/* Two builds of the same sources, compared. */
static void check_one_function(struct ct_profile *a, struct ct_profile *b)
{
	struct ct_frames frames;
	struct ct_frames_of of_a, of_b;
	struct ct_tree tree;

	ct_flame_frames_init(&frames, CT_BY_FUNCTION);
	frames.builds_are_one = true;
	ct_flame_frames_take(&frames, a, &of_a);
	ct_flame_frames_take(&frames, b, &of_b);
	ct_flame_tree_init(&tree, 1);
	ct_flame_tree_add(&tree, &(struct ct_tree_source){ .of = &of_a, .frames = &frames });
	ct_flame_tree_add(&tree,
			  &(struct ct_tree_source){ .of = &of_b, .frames = &frames, .side = 1 });
	ct_flame_tree_order(&tree);
	CHECK_EQ(frames.count, 2);
	CHECK_EQ(tree.node_count, 3);
	ct_flame_tree_release(&tree);
	ct_flame_frames_of_release(&of_a);
	ct_flame_frames_of_release(&of_b);
	ct_flame_frames_release(&frames);
	ct_model_free(a);
	ct_model_free(b);
}

TEST(test_a_function_is_its_name_and_module)
{
	check_one_function(built("/build/a", "/build/a/app", true),
			   built("/build/b", "/build/b/app", true));
	/* Inlined in one build only. */
	check_one_function(built("/build/a", "/build/a/app", true),
			   built("/build/b", "/build/b/app", false));
	/* The program has another name. */
	check_one_function(built("/src", "/bin/app-old", true),
			   built("/src", "/bin/app-new", true));
}

TEST(test_sums_stop_at_the_largest_number)
{
	struct ct_profile *p = recursive(INT64_MAX);
	struct ct_frames frames;
	struct ct_frames_of of;
	struct ct_tree tree;
	struct ct_tree_source source = { .of = &of, .frames = &frames };

	ct_flame_frames_init(&frames, CT_BY_FUNCTION);
	ct_flame_frames_take(&frames, p, &of);
	ct_flame_tree_init(&tree, 1);
	ct_flame_tree_add(&tree, &source);
	ct_flame_tree_add(&tree, &source);
	ct_flame_tree_order(&tree);
	CHECK(tree.values[0] == INT64_MAX && tree.values[1] == INT64_MAX);
	ct_flame_tree_release(&tree);
	ct_flame_frames_of_release(&of);
	ct_flame_frames_release(&frames);
	ct_model_free(p);
}

TEST(test_map_keeps_what_was_put)
{
	struct ct_flame_map map = { 0 };
	size_t wrong = 0;

	for (uint32_t i = 0; i < 100000; i++)
		*ct_flame_map_at(&map, (struct ct_flame_key){ i % 7, i, i / 3 }) = i;
	for (uint32_t i = 0; i < 100000; i++)
		wrong += *ct_flame_map_at(&map, (struct ct_flame_key){ i % 7, i, i / 3 }) != i;
	CHECK_EQ(wrong, 0);
	CHECK_EQ(map.count, 100000);
	ct_flame_map_release(&map);
}

TEST(test_recursion_counts_once)
{
	struct ct_diff d = { .limits = { .fail_over = -1, .rows = 10 } };
	struct ct_profile *p = recursive(3);

	ct_flame_frames_init(&d.frames, CT_BY_FUNCTION);
	CHECK_EQ(ct_diff_rows_take(&d, p, 0, "a", CT_BEFORE), 0);
	CHECK_EQ(ct_diff_rows_take(&d, p, 0, "b", CT_AFTER), 0);
	CHECK_EQ(ct_diff_rows_make(&d), 0);
	CHECK_EQ(d.row_count, 2);
	for (size_t i = 0; i < d.row_count; i++)
		CHECK_EQ(d.rows[i].figure[CT_CUM].mean[CT_AFTER], 6);
	CHECK(isnan(d.total.p));
	ct_diff_rows_release(&d);
	ct_model_free(p);
}

/* Student's original sleep data, and a pair without any spread. */
TEST(test_welch_known_values)
{
	static const double a[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 };
	static const double b[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
	static const double same[] = { 2, 2 }, other[] = { 3, 3 };

	CHECK(fabs(ct_diff_test_welch(a, 10, b, 10) - 0.07939414) < 1e-7);
	CHECK(ct_diff_test_welch(same, 2, same, 2) == 1);
	CHECK(ct_diff_test_welch(same, 2, other, 2) == 0);
	CHECK(isnan(ct_diff_test_welch(a, 1, b, 10)));
}
