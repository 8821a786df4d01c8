/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes settings from an options struct, by the modes' tables; see settings.h. */
#include "settings/settings.h"

#include <errno.h>
#include <string.h>

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

static int take(const struct cp_config_row *row, const void *from, void *to)
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

int cp_config_options_take(struct cp_config *c, const struct cprof_options *o)
{
	int err = 0;

	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const struct cp_config_mode *mode = cp_config_table_mode(m);

		for (size_t i = 0; !err && mode && i < mode->count; i++)
			if (mode->rows[i].option)
				err = take(&mode->rows[i], (const char *)o + mode->rows[i].option,
					   (char *)cp_config_of(c, m) + mode->rows[i].at);
	}
	return err;
}

const char *cp_config_options_path(const struct cprof_options *o, unsigned m)
{
	const struct cp_config_mode *mode = cp_config_table_mode(m);

	return mode && mode->path_option
		       ? *(const char *const *)(const void *)((const char *)o + mode->path_option)
		       : NULL;
}
