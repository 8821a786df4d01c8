/* Any environment, as a program is started with: settings of every kind at once, what a parent
 * tells of itself, and variables that are none. NULs in the input end a variable.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "lineage.h"
#include "path.h"

#define VARIABLES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *environment[VARIABLES_MAX + 1];

static void check(bool holds)
{
	if (!holds)
		abort();
}

static const char *look_up(const char *key)
{
	size_t n = strlen(key);

	for (char **v = environment; *v; v++)
		if (!strncmp(*v, key, n) && (*v)[n] == '=')
			return *v + n + 1;
	return NULL;
}

static size_t split(char *text, size_t size)
{
	size_t count = 0;

	for (size_t at = 0; at < size && count < VARIABLES_MAX; at += strlen(text + at) + 1)
		environment[count++] = text + at;
	environment[count] = NULL;
	return count;
}

/* Ours is taken out, all others stay, in their order. */
static void read_lineage(struct cp_lineage *l, size_t count)
{
	size_t left = 0;

	cp_lineage_read(l, environment);
	while (environment[left])
		left++;
	check(left <= count);
	for (size_t i = 0; i < left; i++)
		check(strncmp(environment[i], CP_LINEAGE_VARIABLE "=",
			      sizeof(CP_LINEAGE_VARIABLE)) != 0);
	check(l->base[0] == '/' && strlen(l->base) < sizeof(l->base));
}

/* What descendants get is an absolute path, or what was there. */
static void pin(const struct cp_lineage *l, enum cp_mode mode)
{
	const char *variable = cp_config_variable(mode), *path = look_up(variable), *pinned;
	size_t head = strlen(variable) + 1;

	if (!path || !*path)
		return;
	pinned = cp_lineage_pin(l, environment, variable, path);
	check(pinned == path || pinned[0] == '/');
	if (pinned == path)
		return;
	/* It is in a page of its own, for as long as a process lives. */
	for (char **v = environment; *v; v++)
		if (*v == pinned - head)
			*v = (char *)"";
	munmap((void *)(uintptr_t)(pinned - head), 2 * CP_PATH_MAX); /* NOLINT */
}

static void expand(const struct cp_config *c, const struct cp_lineage *l)
{
	const struct cp_path_facts facts = { 7, "program", "host", 1700000000, NULL };
	char path[CP_PATH_MAX], numbered[CP_PATH_MAX];
	bool has_pid;

	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		if (c->path[m][0] &&
		    !cp_path_expand(path, sizeof(path), c->path[m], l->base, &facts, &has_pid)) {
			check(path[0] == '/');
			if (!cp_path_number(numbered, sizeof(numbered), path, 3))
				check(strlen(numbered) < sizeof(numbered));
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct cp_lineage lineage;
	static struct cp_config c;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	read_lineage(&lineage, split(text, size));
	cp_config_read_quietly(&c, look_up);
	check(c.cpu_frequency >= 1 && c.cpu_frequency <= 10000);
	check(c.max_depth >= 1 && c.max_depth <= 4096);
	expand(&c, &lineage);
	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		pin(&lineage, m);
	free(text);
	return 0;
}
