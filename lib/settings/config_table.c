/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of settings that belong to no mode, the modes' tables, and settings in options structs;
 * see settings.h. */

#include <errno.h>
#include <string.h>

#include "settings/config_rows.h"
#include "base/start_data.h"

#define CP_CONFIG_IN struct cp_config
#define GLOBS "a list of globs of up to 1023 bytes"

/* clang-format off */
const struct cp_config_row cp_config_table[] = {
	SWITCH("CPUPROFILE_USE_PID", use_pid, "0"),
	NUMBER("CPROF_MAX_DEPTH", max_depth, "512", 1, 4096, "frames"),
	CHOICE("CPROF_UNWIND", unwind, "auto", "auto", "fp", "dwarf", "libunwind"),
	CHOICE("CPROF_SYMBOLIZE", symbolize, "full", "none", "names", "full"),
	DURATION("CPROF_CHECKPOINT", checkpoint_ns, "60s", CP_CONFIG_DUMP_MIN, CP_CONFIG_DUMP_MAX,
		 "a duration as 30s, 1.5m or 500ms (10ms to 8760h), seconds, or 0 for off"),
	TIMES("CPROF_TIMES", times, "8M", CP_CONFIG_TIMES_MIN, CP_CONFIG_TIMES_MAX, "a size of 64K to 1G, a duration as 60s, or off"),
	SIGNAL("CPROF_SIGNAL", dump_signal, "USR2"),
	SIGNAL("CPUPROFILESIGNAL", toggle_signal, NULL),
	SIGNAL("HEAPPROFILESIGNAL", heap_signal, NULL),
	CHOICE("CPROF_CONTROL", control, "auto", "auto", "on", "off", "/PATH"),
	SWITCH("CPROF_FOLLOW", follow, "1"),
	SWITCH("CPROF_JEMALLOC_BACKTRACE", jemalloc_backtrace, "1"),
	NUMBER("CPROF_VERBOSE", verbose, "0", 0, 1, NULL),
	TEXT("CPROF_ONLY", only, GLOBS, "all programs", ""),
	TEXT("CPROF_DUMP_ON", dump_on, "up to eight of span>500ms, span:NAME>2s, rss>80% (of the limit) and rss>2G, with commas", "no such dumps", "",
	     .is_good = cp_triggers_are_good),
	TEXT("CPROF_LABELS", labels, "key=value,key=value of up to 1023 bytes", "no labels", "",
	     .is_good = cp_config_values_are_labels),
	TEXT("CPROF_PUSH", push, "a target of cprof push of up to 1023 bytes", "no push", ""),
	TEXT("CPROF_SERVE", serve, "HOST:PORT of up to 255 bytes", "no server", ""),
	/* The user wants to keep some labels out, so a bad value keeps all of them out. */
	TEXT("CPROF_LABEL_KEYS", label_keys, GLOBS, "no labels of the program's", ","),
};
/* clang-format on */

const size_t cp_config_table_size = sizeof(cp_config_table) / sizeof(*cp_config_table);

static struct {
	const char *name;
	const struct cp_config_mode *settings;
} modes[CP_MAIN_MODES] CP_START_DATA;

void cp_config_table_add(unsigned m, const char *name, const struct cp_config_mode *mode)
{
	modes[m].name = name;
	modes[m].settings = mode;
}

const struct cp_config_mode *cp_config_table_mode(unsigned m)
{
	return modes[m].settings;
}

const char *cp_config_table_name(unsigned m)
{
	return modes[m].name;
}

const struct cp_config_row *cp_config_table_at(size_t i)
{
	if (i < cp_config_table_size)
		return &cp_config_table[i];
	i -= cp_config_table_size;
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		size_t count = modes[m].settings ? modes[m].settings->count : 0;

		if (i < count)
			return &modes[m].settings->rows[i];
		i -= count;
	}
	return NULL;
}

/* ---- settings in an options struct ---- */

static int take_number(const struct cp_config_row *row, const void *from, unsigned *to)
{
	const unsigned value = *(const unsigned *)from;

	if (value > row->max)
		return -EINVAL;
	*to = value ? value : *to;
	return 0;
}

static int take_size(const struct cp_config_row *row, const void *from, uint64_t *to)
{
	const unsigned long long value = *(const unsigned long long *)from;

	if (value > row->max)
		return -EINVAL;
	*to = value ? value : *to;
	return 0;
}

static int take_duration(const void *from, uint64_t *to)
{
	const long long value = *(const long long *)from;

	if (value < CPROF_OFF)
		return -EINVAL;
	if (value)
		*to = value == CPROF_OFF ? 0 : (uint64_t)value;
	return 0;
}

static int take_text(const struct cp_config_row *row, const void *from, char *to)
{
	const char *value = *(const char *const *)from;

	if (!value)
		return 0;
	if (strlen(value) >= CP_CONFIG_TEXT_SIZE || (row->is_good && !row->is_good(value)))
		return -EINVAL;
	memcpy(to, value, strlen(value) + 1);
	return 0;
}

static int take_option(const struct cp_config_row *row, const void *from, void *to)
{
	switch (row->kind) {
	case CP_CONFIG_NUMBER: return take_number(row, from, to);
	case CP_CONFIG_SIZE: return take_size(row, from, to);
	case CP_CONFIG_DURATION: return take_duration(from, to);
	case CP_CONFIG_TEXT: return take_text(row, from, to);
	case CP_CONFIG_SWITCH: *(bool *)to |= *(const int *)from != 0; return 0;
	default: return -EINVAL; /* no mode has such an option */
	}
}

int cp_config_table_take(struct cp_config *c, const struct cprof_options *o)
{
	int err = 0;

	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const struct cp_config_mode *mode = cp_config_table_mode(m);

		for (size_t i = 0; !err && mode && i < mode->count; i++)
			if (mode->rows[i].option)
				err = take_option(&mode->rows[i],
						  (const char *)o + mode->rows[i].option,
						  (char *)cp_config_of(c, m) + mode->rows[i].at);
	}
	return err;
}

const char *cp_config_table_path(const struct cprof_options *o, unsigned m)
{
	const struct cp_config_mode *mode = cp_config_table_mode(m);

	return mode && mode->path_option
		       ? *(const char *const *)(const void *)((const char *)o + mode->path_option)
		       : NULL;
}
