/* SPDX-License-Identifier: BSD-3-Clause */
/* cp_text_format and cp_text_parse_u64. */
#include "harness.h"

#include <errno.h>
#include <stdint.h>

#include "base/text.h"

static void test_format_writes_what_printf_would(void)
{
	char got[128], want[128];

	cp_text_format(got, sizeof(got), "%s|%5s|%.*s|%c|%d|%4d|%04u|%lu|%zx|%%", "a", "b", 2,
		       "cde", 'f', -12, -3, 7u, 18446744073709551615ul, (size_t)0xbeef);
	snprintf(want, sizeof(want), "%s|%5s|%.*s|%c|%d|%4d|%04u|%lu|%zx|%%", "a", "b", 2, "cde",
		 'f', -12, -3, 7u, 18446744073709551615ul, (size_t)0xbeef);
	CHECK_STR(got, want);
}

static void test_format_cuts_and_ends_the_text(void)
{
	char got[4] = "xxx";

	CHECK_EQ(cp_text_format(got, sizeof(got), "%s", "abcdef"), 3);
	CHECK_STR(got, "abc");
	CHECK_EQ(cp_text_format(got, 0, "%s", "zz"), 0);
	CHECK_STR(got, "abc");
}

static void test_parse_takes_digits_and_moves_on(void)
{
	const char *s = "7fff-12";
	uint64_t v = 0;

	CHECK_EQ(cp_text_parse_u64(&s, 16, &v), 0);
	CHECK_EQ(v, 0x7fff);
	CHECK_STR(s, "-12");
	CHECK_EQ(cp_text_parse_u64(&s, 10, &v), -EINVAL);
	CHECK_EQ(v, 0x7fff);
	s = "18446744073709551616";
	CHECK_EQ(cp_text_parse_u64(&s, 10, &v), -ERANGE);
	CHECK_STR(s, "18446744073709551616");
}

int main(void)
{
	RUN(test_format_writes_what_printf_would);
	RUN(test_format_cuts_and_ends_the_text);
	RUN(test_parse_takes_digits_and_moves_on);
	return harness_end();
}
