/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/core/numbers.c: values are written as pprof writes them. */
#include <math.h>

#include "harness.h"
#include "core/report.h"

static void check_format(int64_t value, const char *from, const char *unit, const char *want)
{
	char got[CT_NUMBER_ROOM];

	CHECK_STR(ct_numbers_format(got, value, from, unit), want);
}

TEST(test_values_take_the_unit_that_fits)
{
	check_format(0, "nanoseconds", "auto", "0");
	check_format(1, "nanoseconds", "auto", "1ns");
	check_format(1500, "nanoseconds", "auto", "1.50us");
	check_format(-2500000, "nanoseconds", "minimum", "-2.50ms");
	check_format(90, "seconds", "auto", "90s");
	check_format(7200, "s", "auto", "2hrs");
	check_format(512, "bytes", "auto", "512B");
	check_format(524288, "byte", "auto", "512kB");
	check_format(3 << 20, "B", "auto", "3MB");
	check_format(1234, "count", "auto", "1234");
	check_format(1234, "count", "minimum", "1234");
	check_format(1234, "widgets", "widgets", "1234widgets");
}

TEST(test_values_take_the_unit_that_is_asked_for)
{
	check_format(1500000000, "nanoseconds", "s", "1.50s");
	check_format(1500000000, "nanoseconds", "milliseconds", "1500ms");
	check_format(1, "nanoseconds", "s", "0");
	check_format(2048, "bytes", "KB", "2kB");
	check_format(2048, "bytes", "seconds", "2048B");
	check_format(5, "nanoseconds", "bytes", "0");
}

TEST(test_extremes_are_survived)
{
	char text[CT_NUMBER_ROOM];

	ct_numbers_format(text, INT64_MIN, "bytes", "auto");
	ct_numbers_format(text, INT64_MIN, "count", "auto");
	ct_numbers_format(text, INT64_MAX, "hours", "ns");
	CHECK(strlen(text) < CT_NUMBER_ROOM);
	CHECK_EQ(ct_numbers_clamp(NAN), 0);
	CHECK_EQ(ct_numbers_clamp(1e300), INT64_MAX);
	CHECK_EQ(ct_numbers_clamp(-1e300), INT64_MIN);
	CHECK_EQ(ct_add(INT64_MAX, 1), INT64_MIN);
	CHECK_EQ(ct_abs(INT64_MIN), INT64_MIN);
	CHECK_EQ(ct_divide(INT64_MIN, -1), INT64_MIN);
	CHECK_EQ(ct_numbers_scale_value(5, 0.5), 3);
	CHECK_EQ(ct_numbers_scale_value(-5, 0.5), -3);
}

static void check_percent(int64_t value, int64_t total, const char *want)
{
	char got[CT_NUMBER_ROOM];

	CHECK_STR(ct_numbers_percent(got, value, total), want);
}

TEST(test_shares)
{
	check_percent(1, 0, "    0%");
	check_percent(0, 10, "    0%");
	check_percent(10, 10, "  100%");
	check_percent(9999, 10000, "  100%");
	check_percent(1, 3, "33.33%");
	check_percent(-1, 3, "33.33%");
	check_percent(1, 200, "  0.5%");
	check_percent(1, 20000, "0.005%");
	check_percent(3, 2, "150.00%");
}

TEST(test_units_that_go_together)
{
	CHECK(ct_numbers_units_compatible("ns", "seconds"));
	CHECK(ct_numbers_units_compatible("bytes", "MB"));
	CHECK(ct_numbers_units_compatible("count", "count"));
	CHECK(!ct_numbers_units_compatible("bytes", "ns"));
	CHECK(!ct_numbers_units_compatible("count", "ns"));
}
