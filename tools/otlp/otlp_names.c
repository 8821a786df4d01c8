/* SPDX-License-Identifier: BSD-3-Clause */
/* See otlp_names.h. */
#include "otlp/otlp_names.h"

#include <stddef.h>
#include <string.h>

struct pair {
	const char *ours, *theirs;
};

static const struct pair keys[] = {
	{ "thread", "thread.name" },
	{ "tid", "thread.id" },
	{ NULL, NULL },
};

static const struct pair units[] = {
	{ "bytes", "By" },	  { "nanoseconds", "ns" }, { "microseconds", "us" },
	{ "milliseconds", "ms" }, { "seconds", "s" },	   { "count", "1" },
	{ NULL, NULL },
};

static const char *theirs(const struct pair *p, const char *ours)
{
	for (; p->ours; p++)
		if (!strcmp(p->ours, ours))
			return p->theirs;
	return ours;
}

static const char *ours(const struct pair *p, const char *theirs)
{
	for (; p->ours; p++)
		if (!strcmp(p->theirs, theirs))
			return p->ours;
	return theirs;
}

const char *ct_otlp_names_key(const char *label)
{
	return theirs(keys, label);
}

const char *ct_otlp_names_label(const char *key)
{
	return ours(keys, key);
}

const char *ct_otlp_names_ucum(const char *unit)
{
	return theirs(units, unit);
}

const char *ct_otlp_names_unit(const char *ucum)
{
	return ours(units, ucum);
}
