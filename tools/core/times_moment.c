/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments and durations as people write them; see times.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/report.h"
#include "core/times.h"

#define NS 1e9

int ct_times_moment_wrong(const char *option, const char *text, const char *what)
{
	fprintf(stderr, "cprof: -%s=%s %s\n", option, text, what);
	return -1;
}

/* Reads a duration into *NS. Returns 0, or -1 after a message. NULL leaves *NS as it is. */
int ct_times_moment_duration(const char *option, const char *text, double *ns)
{
	double seconds = text ? ct_options_seconds(text) : 0;

	if (seconds < 0 || seconds > 1e9)
		return ct_times_moment_wrong(option, text, "is no duration like 2s, 1m30s or 10ms");
	*ns = text ? seconds * NS : *ns;
	return 0;
}

/* Reads a time of day, with or without its date, in local time unless "Z" follows. Without a date
 * it is the first such time from START on, with a minute of grace. Returns whether TEXT is one. */
static bool read_clock(const char *text, int64_t start, int64_t *when)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					     "%Y-%m-%dT%H:%M", "%H:%M:%S", "%H:%M" };
	time_t begin = (time_t)(start / 1000000000), t;
	bool utc = ct_ends(text, "Z");

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm;
		double part = 0;
		char *rest;

		if (!(utc ? gmtime_r(&begin, &tm) : localtime_r(&begin, &tm)))
			return false;
		tm.tm_sec = 0;
		rest = strptime(text, forms[i], &tm);
		if (rest && *rest == '.')
			part = strtod(rest, &rest);
		if (!rest || strcmp(rest, utc ? "Z" : "") != 0)
			continue;
		tm.tm_isdst = -1;
		t = utc ? timegm(&tm) : mktime(&tm);
		if (*forms[i] == '%' && forms[i][1] == 'H' && t + 60 < begin)
			t += 24 * 3600;
		*when = (int64_t)((uint64_t)t * 1000000000) + (int64_t)(part * NS);
		return true;
	}
	return false;
}

int ct_times_moment_read(const char *option, const char *text, int64_t start, int64_t *when)
{
	double ns = 0;

	if (!text || read_clock(text, start, when))
		return 0;
	if (strchr(text, ':'))
		return ct_times_moment_wrong(option, text,
					     "is no time like 12:03:07 or 2026-01-31T12:03:07");
	if (ct_times_moment_duration(option, text, &ns))
		return -1;
	*when = ct_add(start, (int64_t)ns);
	return 0;
}
