/* SPDX-License-Identifier: BSD-3-Clause */
/* Misspelt settings; see settings.h. Pure functions of the environment. */
#include "settings/settings.h"

#include <stdlib.h>

#include "base/text.h"

#define PREFIX "CPROF_"
#define PROFILE "PROFILE"
/* Number of letters that tell it from another word. */
#define PROF 4u
/* A name whose length differs by more than this is another word. */
#define FAR 2

/* A variable that only the tool reads. */
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

static bool is_set(char *const *environment, const char *variable)
{
	size_t n = strlen(variable);

	for (; *environment; environment++)
		if (!strncmp(*environment, variable, n) && (*environment)[n] == '=' &&
		    (*environment)[n + 1])
			return true;
	return false;
}

static bool is_setting(const char *name)
{
	const struct cp_config_row *row;

	for (size_t i = 0; (row = cp_config_table_at(i)); i++)
		if (!strcmp(name, row->variable))
			return true;
	for (size_t i = 0; i < sizeof(of_the_tool) / sizeof(*of_the_tool); i++)
		if (!strcmp(name, of_the_tool[i]))
			return true;
	return false;
}

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Returns true if the first N letters of NAME are those of CAPITALS, in either case. */
static bool begins_like(const char *name, const char *capitals, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (upper(name[i]) != capitals[i])
			return false;
	return true;
}

/* Returns true if NAME begins as VARIABLE, HEAPPROFILE for example, does up to its PROF, with or
 * without "_" in between, and is about as long: HEAP_PROFILE, heapprofile, HEAPPROFLE. */
static bool is_like(const char *name, const char *variable)
{
	const char *profile = strstr(variable, PROFILE);
	size_t n = profile ? (size_t)(profile - variable) : 0;
	long longer = (long)strlen(name) - (long)strlen(variable);

	return profile && labs(longer) <= FAR && begins_like(name, variable, n) &&
	       begins_like(name + n + (name[n] == '_'), PROFILE, PROF);
}

static const char *meant_path(char *const *environment, const char *name)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const char *variable = cp_config_variable(m);

		if (variable && is_like(name, variable))
			return strcmp(name, variable) && !is_set(environment, variable) ? variable
											: NULL;
	}
	return NULL;
}

static bool is_unknown(char *const *environment, struct cp_unknown *u)
{
	u->meant = NULL;
	if (!strncmp(u->name, PREFIX, sizeof(PREFIX) - 1))
		return !is_setting(u->name);
	u->meant = meant_path(environment, u->name);
	return u->meant;
}

bool cp_unknown_next(char *const *environment, size_t *at, struct cp_unknown *found)
{
	while (environment && environment[*at]) {
		const char *v = environment[(*at)++], *end = strchr(v, '=');
		size_t n = end ? (size_t)(end - v) : 0;

		if (!n || n >= sizeof(found->name))
			continue;
		memcpy(found->name, v, n);
		found->name[n] = '\0';
		if (is_unknown(environment, found))
			return true;
	}
	return false;
}
