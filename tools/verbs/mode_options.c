/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that choose modes; see verbs.h. */
#include "verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "modes/event/event_names.h"

struct ct_mode_option ct_mode_options[CT_MODES];

const struct ct_option ct_mode_options_table[] = {
	CT_MAYBE("cpu", "HZ", &ct_mode_options[CT_CPU].value,
		 "CPU time, sampled HZ times a second"),
	CT_MAYBE("wall", "HZ", &ct_mode_options[CT_WALL].value,
		 "time of every thread, running or waiting"),
	CT_MAYBE("heap", "BYTES", &ct_mode_options[CT_HEAP].value,
		 "memory, a sample every BYTES (512K); 1: every allocation"),
	CT_MAYBE("lock", "DUR", &ct_mode_options[CT_LOCK].value,
		 "waits for locks of DUR (1us) or longer"),
	CT_MAYBE("io", NULL, &ct_mode_options[CT_IO].value, "input and output"),
	CT_MAYBE("event", "NAME", &ct_mode_options[CT_EVENT].value,
		 "page faults, or NAME: cache-misses or another of perf's"),
	CT_END
};

const char *ct_mode_options_heap_views;

const struct ct_option ct_mode_options_views_table[] = {
	CT_TEXT("heap-views", "LIST", &ct_mode_options_heap_views,
		"of -heap: resident (the default), lifetimes, fragmentation, mmap; or none"),
	CT_END
};

unsigned ct_mode_options_count(void)
{
	unsigned count = 0;

	for (int m = 0; m < CT_MODES; m++)
		count += ct_mode_options[m].value != NULL;
	return count;
}

char *ct_mode_options_absolute(const char *path)
{
	char *cwd, *whole;

	if (*path == '/')
		return ct_memory_strdup(path);
	cwd = getcwd(NULL, 0);
	whole = ct_memory_printf("%s/%s", cwd ? cwd : "", path);
	free(cwd);
	return whole;
}

char *ct_mode_options_infix(const char *path, const char *infix)
{
	const char *at = ct_run_show_extension(path);
	char *named = ct_memory_printf("%.*s.%s%s", (int)(at - path), path, infix, at);
	char *whole = ct_mode_options_absolute(named);

	free(named);
	return whole;
}

char *ct_mode_options_escaped(const char *path)
{
	char *to = ct_memory_alloc(2 * strlen(path) + 1), *t = to;

	for (; *path; path++) {
		if (*path == '%')
			*t++ = '%';
		*t++ = *path;
	}
	return to;
}

/* Is TEXT a number from 1 to MAX? */
static bool is_rate(const char *text, long max)
{
	long n = strtol(text, NULL, 10);

	return !text[strspn(text, "0123456789")] && n >= 1 && n <= max;
}

/* Is TEXT like "1", "512K", "1.5MiB"? The library knows which sizes it accepts. */
static bool is_size(const char *text)
{
	size_t n = strspn(text, "0123456789.");

	return n && strspn(text + n, "kKmMgGiIbB") == strlen(text + n);
}

static bool is_setting(int mode, const char *text)
{
	switch (mode) {
	case CT_CPU: return is_rate(text, 10000);
	case CT_WALL: return is_rate(text, 1000);
	case CT_HEAP: return is_size(text);
	case CT_EVENT: return cp_event_names_is_good(text);
	case CT_IO: return false;
	default: return ct_options_seconds(text) >= 0;
	}
}

static bool are_views(const char *text)
{
	static const char *const names[] = { "resident", "lifetimes", "fragmentation", "mmap" };
	unsigned i;
	size_t n;

	if (!*text || !strcmp(text, "none"))
		return true;
	for (;; text += n + 1) {
		n = strcspn(text, ",");
		for (i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (strlen(names[i]) == n && !strncmp(text, names[i], n))
				break;
		if (i == sizeof(names) / sizeof(*names))
			return false;
		if (!text[n])
			return true;
	}
}

int ct_mode_options_check(const struct ct_verb *verb)
{
	static const char *const wanted[CT_MODES] = {
		"not 1 to 10000 (Hz)",	 "not 1 to 1000 (Hz)",
		"no size, as 512K or 1", "no duration, as 10us",
		"nothing that it takes", "no event; accepted is " CP_EVENT_NAMES_ACCEPTED
	};

	for (int mode = 0; mode < CT_MODES; mode++) {
		const char *value = ct_mode_options[mode].value;

		if (value && *value && !is_setting(mode, value))
			return ct_options_wrong(verb, "-%s=%s is %s", ct_control_modes[mode].name,
						value, wanted[mode]);
	}
	if (ct_mode_options_heap_views && !ct_mode_options[CT_HEAP].value)
		return ct_options_wrong(verb, "-heap-views is for -heap");
	if (ct_mode_options_heap_views && !are_views(ct_mode_options_heap_views))
		return ct_options_wrong(verb,
					"-heap-views=%s is no list of resident, lifetimes, "
					"fragmentation and mmap",
					ct_mode_options_heap_views);
	return CT_OK;
}

/* "-event page-faults" makes page-faults the command. */
void ct_mode_options_hint(const char *before, const char *operand)
{
	const char *name = before + strspn(before, "-");

	if (name == before)
		return;
	for (int mode = 0; mode < CT_MODES; mode++)
		if (!strcmp(ct_mode_options_table[mode].name, name) && is_setting(mode, operand))
			fprintf(stderr, "cprof: for %s as the setting of -%s: -%s=%s\n", operand,
				name, name, operand);
}

int ct_mode_options_cannot_run(char *const *command, int error)
{
	fprintf(stderr, "cprof: %s can't be run: %s\n", command[0], strerror(error));
	ct_mode_options_hint(command[-1], command[0]);
	return error == ENOENT ? 127 : 126;
}
