/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads single settings; see settings.h. */
#include "settings/settings.h"

#include <errno.h>

#include "base/base.h"
#include "base/text.h"

#define SIGNAL_VALUES                                                                              \
	"a signal's name or number (not KILL, STOP, PROF, ABRT, a fault's, or one that libc "      \
	"keeps) or none"

const char *cp_config_reader_get(const struct cp_config_reader *r, const char *key)
{
	const char *value = r->name(key);

	return value && *value ? value : NULL;
}

void cp_config_reader_say(const struct cp_config_reader *r, const char *key, const char *value,
			  const char *accepted, const char *used)
{
	char shown[64];
	size_t n;

	if (r->quiet && !r->said)
		return;
	for (n = 0; n < sizeof(shown) - 4 && value[n]; n++)
		shown[n] = value[n] >= ' ' && value[n] != 127 ? value[n] : '?';
	cp_text_format(shown + n, sizeof(shown) - n, "%s", value[n] ? "..." : "");
	if (r->said)
		cp_text_format(r->said, r->said_size, "%s=%s: accepted is %s", key, shown,
			       accepted);
	else
		cp_log("%s=%s: accepted is %s; using %s", key, shown, accepted, used);
}

static unsigned count_names(const struct cp_config_row *row)
{
	unsigned count = 0;

	while (count < CP_CONFIG_NAMES && row->names[count])
		count++;
	return count;
}

/* Writes those of ROW's names whose bits are set in LIST, with commas, and LAST before the last
 * one. */
static void join_names(const struct cp_config_row *row, unsigned list, const char *last, char *to,
		       size_t size)
{
	unsigned count = count_names(row);
	size_t n = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!(list >> i & 1))
			continue;
		cp_text_format(to + n, size - n, "%s%s",
			       !n		      ? ""
			       : list >> (i + 1) == 0 ? last
						      : ", ",
			       row->names[i]);
		n += strlen(to + n);
	}
}

/* Writes "1 to 10000 samples per CPU second" or "auto, timer or perf"; for other kinds, the row's
 * own text. */
static const char *accepted(const struct cp_config_row *row, char *to, size_t size)
{
	unsigned all;

	switch (row->kind) {
	case CP_CONFIG_SIGNAL: return SIGNAL_VALUES;
	case CP_CONFIG_SWITCH: return "0 or 1, no or yes, off or on";
	case CP_CONFIG_NUMBER:
		cp_text_format(to, size, "%u %s %u%s%s", (unsigned)row->min,
			       row->max - row->min == 1 ? "or" : "to", (unsigned)row->max,
			       row->accepted ? " " : "", row->accepted ? row->accepted : "");
		return to;
	case CP_CONFIG_CHOICE:
	case CP_CONFIG_LIST:
		all = (1u << count_names(row)) - 1;
		join_names(row, all, row->kind == CP_CONFIG_LIST ? " and " : " or ", to, size);
		if (row->kind == CP_CONFIG_LIST)
			cp_text_format(to + strlen(to), size - strlen(to),
				       ", with commas, or none");
		return to;
	default: return row->accepted;
	}
}

/* A value of any kind of field. */
union field {
	unsigned number;
	uint64_t big;
	bool on;
	int sig;
};

static size_t size_of(const struct cp_config_row *row)
{
	switch (row->kind) {
	case CP_CONFIG_TEXT: return CP_CONFIG_TEXT_SIZE;
	case CP_CONFIG_SIZE:
	case CP_CONFIG_TIMES:
	case CP_CONFIG_DURATION: return sizeof(uint64_t);
	case CP_CONFIG_SWITCH: return sizeof(bool);
	default: return sizeof(unsigned);
	}
}

/* Moves N, which was parsed with result ERR, into ROW's range. Returns whether it was outside. */
static bool limit(const struct cp_config_row *row, int err, uint64_t *n, uint64_t before)
{
	bool off = (row->kind == CP_CONFIG_DURATION || row->kind == CP_CONFIG_TIMES) && !*n;

	if (!err && (off || (*n >= row->min && *n <= row->max)))
		return false;
	if (err == -EINVAL)
		*n = before;
	else
		*n = !err && *n < row->min ? row->min : row->max;
	return true;
}

/* Returns whether VALUE is a percentage that ROW takes, and sets *N to it. */
static bool is_percentage(const struct cp_config_row *row, const char *value, uint64_t *n)
{
	size_t digits = strspn(value, "0123456789");

	*n = 0;
	for (size_t i = 0; i < digits && digits <= 3; i++)
		*n = *n * 10 + (uint64_t)(value[i] - '0');
	return row->percent && value[digits] == '%' && !value[digits + 1] && *n >= 1 && *n <= 100;
}

/* Reads "NAME,NAME" or "none" into *LIST. Returns false, with *LIST unchanged, if another word is
 * in VALUE. */
static bool parse_list(const struct cp_config_row *row, const char *value, unsigned *list)
{
	unsigned count = count_names(row), read = 0, i;
	size_t n;

	if (!strcmp(value, "none")) {
		*list = 0;
		return true;
	}
	for (;; value += n + 1) {
		n = strcspn(value, ",");
		for (i = 0; i < count; i++)
			if (strlen(row->names[i]) == n && !strncmp(value, row->names[i], n))
				break;
		if (i == count)
			return false;
		read |= 1u << i;
		if (!value[n])
			break;
	}
	*list = read;
	return true;
}

/* Parses VALUE for ROW into F, which holds the previous value. Returns whether VALUE is bad; F is
 * then the value used instead. */
static bool parse_value(const struct cp_config_row *row, const char *value, union field *f)
{
	uint64_t n = 0;
	bool bad;

	switch (row->kind) {
	case CP_CONFIG_NUMBER:
		if (is_percentage(row, value, &n)) {
			f->number = CP_CONFIG_PERCENT | (unsigned)n;
			return false;
		}
		bad = limit(row, cp_config_values_number(value, &n), &n, f->number);
		f->number = (unsigned)n;
		return bad;
	case CP_CONFIG_SIZE:
		bad = limit(row, cp_config_values_size(value, &n), &n, f->big);
		f->big = n;
		return bad;
	case CP_CONFIG_TIMES:
		bad = cp_config_values_times(value, &n) != 0;
		if (bad || !(n & CP_CONFIG_TIMES_KEEP))
			bad = limit(row, bad ? -EINVAL : 0, &n, f->big);
		f->big = n;
		return bad;
	case CP_CONFIG_DURATION:
		bad = limit(row, cp_config_values_duration(value, &n), &n, f->big);
		f->big = n;
		return bad;
	case CP_CONFIG_SWITCH: return cp_config_values_bool(value, &f->on) != 0;
	case CP_CONFIG_SIGNAL: return cp_config_values_signal(value, &f->sig) != 0;
	case CP_CONFIG_CHOICE:
		return cp_config_values_choice(value, row->names, count_names(row), &f->number) !=
		       0;
	case CP_CONFIG_LIST: return !parse_list(row, value, &f->number);
	default: return true;
	}
}

/* Writes F as a person would. */
static void show_value(const struct cp_config_row *row, const union field *f, char *to, size_t size)
{
	switch (row->kind) {
	case CP_CONFIG_NUMBER:
		/* A number below MIN means that the mode chooses one. */
		if (f->number < row->min)
			cp_text_format(to, size, "the default");
		else
			cp_text_format(to, size, "%u%s", f->number & ~CP_CONFIG_PERCENT,
				       f->number & CP_CONFIG_PERCENT ? "%" : "");
		break;
	case CP_CONFIG_TIMES:
		if (f->big & CP_CONFIG_TIMES_KEEP)
			cp_config_values_duration_text(f->big & ~CP_CONFIG_TIMES_KEEP, to, size);
		else
			cp_text_format(to, size, "%lu", (unsigned long)f->big);
		break;
	case CP_CONFIG_SIZE: cp_text_format(to, size, "%lu", (unsigned long)f->big); break;
	case CP_CONFIG_DURATION: cp_config_values_duration_text(f->big, to, size); break;
	case CP_CONFIG_SWITCH: cp_text_format(to, size, "%u", f->on); break;
	case CP_CONFIG_SIGNAL: cp_config_values_signal_text(f->sig, to, size); break;
	case CP_CONFIG_CHOICE: cp_text_format(to, size, "%s", row->names[f->number]); break;
	case CP_CONFIG_LIST:
		cp_text_format(to, size, f->number ? "the default" : "none");
		if (!(f->number & CP_CONFIG_UNSET))
			join_names(row, f->number, ", ", to, size);
		break;
	default: cp_text_format(to, size, "%s", row->otherwise);
	}
}

void cp_config_reader_show(const struct cp_config_row *row, const void *in, char *to, size_t size)
{
	union field f = { .big = 0 };

	memcpy(&f, (const char *)in + row->at, size_of(row));
	show_value(row, &f, to, size);
}

bool cp_config_reader_copy(const char *value, char *to, size_t size)
{
	size_t n = strlen(value);

	if (n >= size)
		return false;
	memcpy(to, value, n + 1);
	return true;
}

static void read_text(const struct cp_config_reader *r, const struct cp_config_row *row,
		      const char *value, char *to)
{
	if ((!row->is_good || row->is_good(value)) &&
	    cp_config_reader_copy(value, to, CP_CONFIG_TEXT_SIZE))
		return;
	memcpy(to, row->instead, strlen(row->instead) + 1);
	cp_config_reader_say(r, row->variable, value, row->accepted, row->otherwise);
}

void cp_config_reader_read(const struct cp_config_reader *r, const struct cp_config_row *row,
			   void *in)
{
	const char *value = cp_config_reader_get(r, row->variable);
	char *at = (char *)in + row->at, used[64], range[96];
	union field f = { .big = 0 };
	bool bad;

	/* The empty list is a valid list. */
	if (row->kind == CP_CONFIG_LIST && !value && r->name(row->variable))
		value = "none";
	if (!value)
		return;
	if (row->kind == CP_CONFIG_TEXT) {
		read_text(r, row, value, at);
		return;
	}
	memcpy(&f, at, size_of(row));
	bad = parse_value(row, value, &f);
	memcpy(at, &f, size_of(row));
	if (!bad)
		return;
	show_value(row, &f, used, sizeof(used));
	cp_config_reader_say(r, row->variable, value, accepted(row, range, sizeof(range)), used);
}

void cp_config_reader_default(const struct cp_config_row *row, void *in)
{
	union field f = { .big = 0 };

	if (!row->standard)
		return;
	if (row->kind == CP_CONFIG_TEXT) {
		cp_config_reader_copy(row->standard, (char *)in + row->at, CP_CONFIG_TEXT_SIZE);
		return;
	}
	parse_value(row, row->standard, &f);
	if (row->kind == CP_CONFIG_LIST)
		f.number |= CP_CONFIG_UNSET;
	memcpy((char *)in + row->at, &f, size_of(row));
}

bool cp_config_reader_switch(const struct cp_config_reader *r, const char *key)
{
	const struct cp_config_row row = { .variable = key, .kind = CP_CONFIG_SWITCH };
	const char *value = cp_config_reader_get(r, key);
	union field f = { .big = 0 };
	char none[1];

	if (value && parse_value(&row, value, &f))
		cp_config_reader_say(r, key, value, accepted(&row, none, sizeof(none)), "0");
	return f.on;
}
