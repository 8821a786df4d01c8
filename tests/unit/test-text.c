/* SPDX-License-Identifier: BSD-3-Clause */
/* cp_text_format and cp_text_parse_u64. */
#include "harness.h"

#include "base/text.h"

TEST(test_format_writes_what_printf_would)
{
	char got[128], want[128];

	cp_text_format(got, sizeof(got), "%s|%5s|%.*s|%c|%d|%4d|%04u|%lu|%zx|%%", "a", "b", 2,
		       "cde", 'f', -12, -3, 7u, 18446744073709551615ul, (size_t)0xbeef);
	snprintf(want, sizeof(want), "%s|%5s|%.*s|%c|%d|%4d|%04u|%lu|%zx|%%", "a", "b", 2, "cde",
		 'f', -12, -3, 7u, 18446744073709551615ul, (size_t)0xbeef);
	CHECK_STR(got, want);
}

TEST(test_format_cuts_and_ends_the_text)
{
	char got[4] = "xxx";

	CHECK_EQ(cp_text_format(got, sizeof(got), "%s", "abcdef"), 3);
	CHECK_STR(got, "abc");
	CHECK_EQ(cp_text_format(got, 0, "%s", "zz"), 0);
	CHECK_STR(got, "abc");
}

TEST(test_parse_takes_digits_and_moves_on)
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

/* Returns TEXT's first character as "LENGTH safe" or "LENGTH not". */
static const char *character(const char *text, size_t n)
{
	static char got[32];
	bool safe;
	unsigned length = cp_text_character(text, n, &safe);

	cp_text_format(got, sizeof(got), "%u %s", length, safe ? "safe" : "not");
	return got;
}

TEST(test_what_drives_a_terminal_is_not_safe)
{
	static const char *const unsafe[] = {
		"\033",
		"\a",
		"\n",
		"\r",
		"\x7f",
		"\x9b\x33",
		"\xc2\x9b",
		"\xc2\x80",
		"\xc2\x9f",
		"\xd8\x9c",
		"\xe2\x80\x8e",
		"\xe2\x80\xa8",
		"\xe2\x80\xae",
		"\xe2\x81\xa6",
		"\xc0\x9b",
		"\xe0\x82\x9b",
		"\xed\xa0\x80",
		"\xff",
		"\xf4\x90\x80\x80",
	};
	static const char *const safe[] = { "a",
					    "\t",
					    "~",
					    "\xc2\xa0",
					    "\xc3\xa9",
					    "\xe2\x80\xa2",
					    "\xe6\xbc\xa2",
					    "\xf0\x9f\x94\xa5" };

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
		CHECK(strstr(character(unsafe[i], strlen(unsafe[i])), "not"));
	for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++) {
		CHECK(strstr(character(safe[i], strlen(safe[i])), "safe"));
		CHECK_EQ(*character(safe[i], strlen(safe[i])) - '0', strlen(safe[i]));
	}
	CHECK_STR(character("\xe2\x80\xae", 2), "0 not");
	CHECK_STR(character("\xe2\x41", 2), "1 not");
	CHECK_STR(character("\xc2\x9b", 2), "2 not");
}
