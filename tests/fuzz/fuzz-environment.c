/* SPDX-License-Identifier: BSD-3-Clause */
/* Any environment, as a program is started with: settings of every kind at once, what a parent
 * tells of itself, and variables that are none. NULs in the input end a variable.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "settings/settings.h"
#include "host/host.h"
#include "modes/cpu/cpu.h"
#include "output/output.h"

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
static void read_tree(struct cp_process_tree *l, size_t count)
{
	size_t left = 0;

	cp_process_tree_read(l, environment);
	while (environment[left])
		left++;
	check(left <= count);
	for (size_t i = 0; i < left; i++)
		check(strncmp(environment[i], CP_PROCESS_TREE_VARIABLE "=",
			      sizeof(CP_PROCESS_TREE_VARIABLE)) != 0);
	/* It is empty for a directory that was deleted. */
	check((!l->base[0] || l->base[0] == '/') && strlen(l->base) < sizeof(l->base));
}

/* Descendants get an absolute path, maybe with gperftools' mark, or the original value. */
static void pin(const struct cp_process_tree *l, enum cprof_mode mode)
{
	const char *variable = cp_config_variable(mode), *path = look_up(variable), *pinned;
	size_t head = strlen(variable) + 1;

	if (!path || !*path)
		return;
	pinned = cp_process_tree_pin(l, environment, variable, path);
	check(pinned == path || cp_path_first(pinned) == '/');
	if (pinned == path)
		return;
	/* It is in a page of its own, for as long as a process lives. */
	for (char **v = environment; *v; v++)
		if (*v == pinned - head)
			*v = (char *)"";
	munmap((void *)(uintptr_t)(pinned - head), 2 * CP_PATH_MAX); /* NOLINT */
}

static void expand(const struct cp_config *c, const struct cp_process_tree *l)
{
	const struct cp_path_facts facts = { 7, "program", "host", 1700000000, NULL, NULL };
	char path[CP_PATH_MAX], numbered[CP_PATH_MAX];
	bool has_pid;

	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
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
	struct cp_process_tree tree;
	static struct cp_config c;
	const struct cp_cpu_settings *cpu;

	if (!text)
		return 0;
	cp_mode_ops_set(cp_modes);
	memcpy(text, data, size);
	text[size] = '\0';
	read_tree(&tree, split(text, size));
	cp_config_read_quietly(&c, look_up);
	cpu = cp_config_of(&c, CPROF_CPU);
	check(cpu->frequency >= 1 && cpu->frequency <= 10000);
	check(c.max_depth >= 1 && c.max_depth <= 4096);
	expand(&c, &tree);
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		pin(&tree, m);
	free(text);
	return 0;
}
