/* SPDX-License-Identifier: BSD-3-Clause */
/* Misspelt settings; see settings.h. Pure functions of the environment. */
#include "settings/settings.h"

#include <string.h>

#include "base/text.h"

#define PREFIX "CPROF_"
/* Names of settings are shorter. */
#define NAME_MAX_BYTES 63u
/* Names that differ in more letters have nothing to do with each other. */
#define FAR_PATH 2u
#define FAR 3u

/* Read by the tool alone. */
#define PAGER PREFIX "PAGER"
#define CACHE PREFIX "CACHE"
static const char *const of_the_tool[] = { PAGER,
					   CACHE,
					   PREFIX "PUSH_USER",
					   PREFIX "PUSH_USER_FILE",
					   PREFIX "PUSH_TOKEN",
					   PREFIX "PUSH_TOKEN_FILE",
					   PREFIX "PUSH_TENANT",
					   PREFIX "PUSH_TENANT_FILE" };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Returns how many letters of A must be changed, added or removed to get B. Ignores case. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_BYTES + 1], corner, above, n = (unsigned)strlen(b);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		corner = row[0]++;
		for (unsigned j = 0; j < n; j++) {
			above = row[j + 1];
			row[j + 1] =
				least(least(above, row[j]) + 1, corner + (upper(a[i]) != b[j]));
			corner = above;
		}
	}
	return row[n];
}

/* The same, but returns N + 1 for any distance over N. Returns at once if the lengths differ by
 * more than N. */
static unsigned distance_up_to(const char *a, const char *b, unsigned n)
{
	size_t x = strlen(a), y = strlen(b);

	return (x > y ? x - y : y - x) > n ? n + 1 : distance(a, b);
}

static bool is_set(char *const *environment, const char *variable)
{
	size_t n = strlen(variable);

	for (; *environment; environment++)
		if (!strncmp(*environment, variable, n) && (*environment)[n] == '=' &&
		    (*environment)[n + 1])
			return true;
	return false;
}

/* A setting, and how many letters of a name differ from it. */
struct nearest {
	const char *setting;
	unsigned distance;
};

/* Puts SETTING into BEST if it is nearer to NAME than what BEST has. */
static void consider(const char *name, const char *setting, struct nearest *best)
{
	unsigned d;

	if (strncmp(setting, PREFIX, sizeof(PREFIX) - 1) != 0)
		return;
	d = distance_up_to(name, setting, FAR);
	if (d < best->distance)
		*best = (struct nearest){ setting, d };
}

static const char *nearest_setting(const char *name)
{
	struct nearest best = { NULL, FAR + 1 };
	const struct cp_config_row *row;

	for (size_t i = 0; (row = cp_config_table_at(i)); i++)
		consider(name, row->variable, &best);
	for (size_t i = 0; i < sizeof(of_the_tool) / sizeof(*of_the_tool); i++)
		consider(name, of_the_tool[i], &best);
	return best.setting;
}

/* The first two letters tell one path from another: GOPROFILE is no misspelt IOPROFILE. */
static bool begins_like(const char *name, const char *variable)
{
	return upper(name[0]) == variable[0] && upper(name[1]) == variable[1];
}

static const char *nearest_path(char *const *environment, const char *name)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const char *variable = cp_config_variable(m);

		if (variable && begins_like(name, variable) &&
		    distance_up_to(name, variable, FAR_PATH) <= FAR_PATH)
			return strcmp(name, variable) && !is_set(environment, variable) ? variable
											: NULL;
	}
	return NULL;
}

static bool is_unknown(char *const *environment, struct cp_unknown *u)
{
	if (!strncmp(u->name, PREFIX, sizeof(PREFIX) - 1)) {
		u->nearest = nearest_setting(u->name);
		return !u->nearest || strcmp(u->name, u->nearest);
	}
	u->nearest = nearest_path(environment, u->name);
	return u->nearest;
}

bool cp_unknown_next(char *const *environment, size_t *at, struct cp_unknown *found)
{
	while (environment && environment[*at]) {
		const char *v = environment[(*at)++], *end = strchr(v, '=');
		size_t n = end ? (size_t)(end - v) : 0;

		if (!n || n > NAME_MAX_BYTES)
			continue;
		memcpy(found->name, v, n);
		found->name[n] = '\0';
		if (is_unknown(environment, found))
			return true;
	}
	return false;
}

bool cp_unknown_is_path(const struct cp_unknown *found)
{
	return found->nearest && strncmp(found->nearest, PREFIX, sizeof(PREFIX) - 1) != 0;
}
