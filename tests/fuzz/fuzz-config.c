/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as the value of every setting, as a list of globs and as a path's template. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "modes/cpu/cpu.h"
#include "output/output.h"
#include "settings/settings.h"
#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *text;

static const char *look_up(const char *key)
{
	return text;
}

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void read_settings(void)
{
	static struct cp_config c;
	const struct cp_cpu_settings *cpu = cp_config_of(&c, CPROF_CPU);

	cp_mode_ops_set(cp_modes);
	cp_config_read_quietly(&c, look_up);
	check(cpu->frequency >= 1 && cpu->frequency <= 10000);
	check(c.max_depth >= 1 && c.max_depth <= 4096);
	check(c.dump_signal >= 0 && c.dump_signal <= 64 && c.dump_signal != 9);
	check(!c.dump_signal || c.dump_signal != c.toggle_signal);
	cp_config_wants_program(&c, "program");
}

static void read_values(void)
{
	uint64_t v = 0;

	cp_config_values_size(text, &v);
	if (!cp_config_values_duration(text, &v) && strpbrk(text, "123456789"))
		check(v > 0);
	cp_globs_match(text, "some-program");
	cp_globs_match("[!a-f]*,?b*c[x-", text);
}

static const char *value_of(const char *name)
{
	return *name == 'N' ? NULL : text;
}

/* The name of every dump fits where the count said that it does, and ends there. */
static void build_paths(void)
{
	const struct cp_path_facts facts = { .pid = 7,
					     .program = text,
					     .host = "host",
					     .start_time = 1700000000,
					     .variable = value_of };
	char path[512], numbered[512];
	bool has_pid;

	if (cp_path_expand(path, sizeof(path), text, "/some%n/where", &facts, &has_pid))
		return;
	check(path[0] == '/');
	for (unsigned number = 0; number < 2; number++)
		if (!cp_path_number(numbered, sizeof(numbered), path, number))
			check(!strncmp(numbered, text[0] == '/' ? "/" : "/some%n/where/",
				       text[0] == '/' ? 1 : 14));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	text = copy;
	read_settings();
	read_values();
	build_paths();
	free(copy);
	return 0;
}
