/* SPDX-License-Identifier: BSD-3-Clause */
/* Units and number formats; see report.h. Steps and names of units are pprof's. Where a unit is
 * asked for ("minimum" is pprof's default), the rounding is pprof's, too, and tables agree with
 * pprof's.
 */
#include "core/report.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define ALIASES 3

struct unit {
	const char *name; /* name as it is printed */
	double factor;	  /* size in the scale's smallest unit */
	const char *aliases[ALIASES];
};

struct scale {
	const struct unit *units; /* ends with a NULL name */
	const struct unit base;	  /* the unit for target units that the scale doesn't have */
};

#define KILO(n) ((double)(UINT64_C(1) << 10 * (n)))

static const struct unit bytes[] = {
	{ "B", 1, { "b", "byte" } },
	{ "kB", KILO(1), { "kb", "kbyte", "kilobyte" } },
	{ "MB", KILO(2), { "mb", "mbyte", "megabyte" } },
	{ "GB", KILO(3), { "gb", "gbyte", "gigabyte" } },
	{ "TB", KILO(4), { "tb", "tbyte", "terabyte" } },
	{ "PB", KILO(5), { "pb", "pbyte", "petabyte" } },
	{ NULL, 0, { NULL } },
};

static const struct unit times[] = {
	{ "ns", 1, { "ns", "nanosecond" } },	{ "us", 1e3, { "us", "μs", "microsecond" } },
	{ "ms", 1e6, { "ms", "millisecond" } }, { "s", 1e9, { "s", "sec", "second" } },
	{ "hrs", 3600e9, { "hour", "hr" } },	{ NULL, 0, { NULL } },
};

static const struct scale scales[] = {
	{ bytes, { "B", 1, { NULL } } },
	{ times, { "s", 1e9, { NULL } } },

};

#define SCALES (sizeof(scales) / sizeof(*scales))

int64_t ct_numbers_clamp(double v)
{
	if (isnan(v))
		return 0;
	if (v >= 0x1p63)
		return INT64_MAX;
	return v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

int64_t ct_numbers_scale_value(int64_t value, double ratio)
{
	return ct_numbers_clamp(round((double)value * ratio));
}

/* Finds a unit in any case of letters, in singular or plural. */
static const struct unit *find_unit(const struct scale *s, const char *name)
{
	char lower[24];
	size_t n = strlen(name);

	if (n >= sizeof(lower))
		return NULL;
	for (size_t i = 0; i <= n; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	if (n > 2 && lower[n - 1] == 's')
		lower[n - 1] = '\0';
	for (const struct unit *u = s->units; u->name; u++)
		for (unsigned a = 0; a < ALIASES && u->aliases[a]; a++)
			if (!strcmp(u->aliases[a], lower))
				return u;
	return NULL;
}

static const struct unit *biggest(const struct scale *s, double value)
{
	const struct unit *best = NULL;

	for (const struct unit *u = s->units; u->name; u++)
		if (value / u->factor >= 1)
			best = u;
	return best ? best : &s->base;
}

static bool is_automatic(const char *unit)
{
	return !strcmp(unit, "auto") || !strcmp(unit, "minimum");
}

static bool is_plain_count(const char *unit)
{
	return is_automatic(unit) || !strcmp(unit, "count") || !strcmp(unit, "sample") ||
	       !strcmp(unit, "unit");
}

double ct_numbers_scale(int64_t value, const char *from, const char *to, const char **unit)
{
	if (value < 0 && value > INT64_MIN)
		return -ct_numbers_scale(-value, from, to, unit);
	for (unsigned i = 0; i < SCALES; i++) {
		const struct unit *f = find_unit(&scales[i], from), *t;
		double base;

		if (!f)
			continue;
		base = (double)value * f->factor;
		t = is_automatic(to) ? biggest(&scales[i], base) : find_unit(&scales[i], to);
		if (!t)
			t = &scales[i].base;
		*unit = t->name;
		return base / t->factor;
	}
	*unit = is_plain_count(to) ? "" : to;
	return (double)value;
}

char *ct_numbers_text(char *to, int64_t value, const char *from, int64_t like)
{
	const char *unit;
	double v = ct_numbers_scale(like, from, "auto", &unit), size;
	int n;

	/* Hours say little of less than ten of them. */
	if (!strcmp(unit, "hrs") && fabs(v) < 10)
		unit = "s";
	if (*unit)
		v = ct_numbers_scale(value, from, unit, &unit);
	else
		v = (double)value;
	if (value && value != like && fabs(v) < 0.01)
		return ct_numbers_text(to, value, from, value);
	size = fabs(v);
	n = snprintf(to, CT_NUMBER_ROOM, "%.*f",
		     v == trunc(v) || size >= 99.95 ? 0
		     : size >= 9.995		    ? 1
						    : 2,
		     v);
	if (*unit && value)
		snprintf(to + n, CT_NUMBER_ROOM - (size_t)n, " %s", unit);
	return to;
}

char *ct_numbers_format(char *to, int64_t value, const char *from, const char *unit)
{
	const char *name;
	double v = ct_numbers_scale(value, from, unit, &name);
	int n;

	if (!strcmp(unit, "auto"))
		return ct_numbers_text(to, value, from, value);
	n = snprintf(to, CT_NUMBER_ROOM, "%.2f", v);

	if (n > 3 && !strcmp(to + n - 3, ".00"))
		to[n -= 3] = '\0';
	if (!strcmp(to, "0") || !strcmp(to, "-0"))
		return strcpy(to, "0");
	snprintf(to + n, CT_NUMBER_ROOM - (size_t)n, "%s", name);
	return to;
}

/* C's %g and Go's format drop trailing zeros (0.10) alike: two digits of precision. */
char *ct_numbers_percent(char *to, int64_t value, int64_t total)
{
	double share = total ? fabs((double)value / (double)total) * 100 : 0;

	if (share >= 99.95 && share <= 100.05)
		return strcpy(to, "  100%");
	snprintf(to, CT_NUMBER_ROOM, share >= 1 ? "%5.2f%%" : "%5.2g%%", share);
	/* What rounds to 0.01 is said so. */
	return share && share < 0.01 && !strstr(to, "0.01%") ? strcpy(to, "<0.01%") : to;
}

int ct_numbers_units_compatible(const char *a, const char *b)
{
	if (!strcmp(a, b))
		return 1;
	for (unsigned i = 0; i < SCALES; i++)
		if (find_unit(&scales[i], a) && find_unit(&scales[i], b))
			return 1;
	return 0;
}
