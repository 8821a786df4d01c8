/* SPDX-License-Identifier: BSD-3-Clause */
/* UTF-8 check and repair. */
#include "harness.h"

#include "output/pprof.h"

static const struct {
	const char *in, *repaired; /* repaired NULL: valid as it is */
} cases[] = {
	{ "", NULL },
	{ "plain ascii, longer than a word", NULL },
	{ "\xc2\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbf", NULL },
	{ "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", NULL },
	{ "a\xff", "a\xef\xbf\xbd" },
	{ "\x80z", "\xef\xbf\xbdz" },
	{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },		    /* overlong "/" */
	{ "\xc1\x81", "\xef\xbf\xbd\xef\xbf\xbd" },		    /* overlong "A" */
	{ "\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* overlong */
	{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
	{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xe2\x82", "\xef\xbf\xbd" }, /* cut: one part, one mark */
	{ "\xf0\x9f\x98|", "\xef\xbf\xbd|" },
	{ "ok\xe2\x28\xa1", "ok\xef\xbf\xbd(\xef\xbf\xbd" },
	{ "12345678\xfe", "12345678\xef\xbf\xbd" },
};

TEST(test_utf8_is_told_from_bytes)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(cp_utf8_valid(cases[i].in, strlen(cases[i].in)), !cases[i].repaired);
}

TEST(test_utf8_repair_keeps_what_is_valid)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[256];
		size_t n = cp_utf8_repair(out, cases[i].in, strlen(cases[i].in));

		out[n] = '\0';
		CHECK_STR(out, cases[i].repaired ? cases[i].repaired : cases[i].in);
	}
}

TEST(test_utf8_repair_of_anything_is_valid_and_fits)
{
	unsigned seed = 1;

	for (int round = 0; round < 200000; round++) {
		char in[12], out[36 + 1] = { 0 };
		size_t n;

		for (size_t i = 0; i < sizeof(in); i++) {
			seed = seed * 1103515245 + 12345;
			in[i] = (char)(seed >> 16 & (seed >> 24 & 1 ? 0xff : 0xbf));
		}
		out[36] = 'x';
		n = cp_utf8_repair(out, in, sizeof(in));
		if (n > 36 || out[36] != 'x' || !cp_utf8_valid(out, n)) {
			CHECK(!"valid and within three times the length");
			return;
		}
	}
}
