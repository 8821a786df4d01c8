/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the settings from the environment; see settings.h. */
#include "settings/settings.h"

#include "base/base.h"
#include "base/text.h"

void cp_config_defaults(struct cp_config *c)
{
	memset(c, 0, offsetof(struct cp_config, path));
	for (size_t i = 0; i < cp_config_table_size; i++)
		cp_config_reader_default(&cp_config_table[i], c);
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const struct cp_config_mode *mode = cp_config_table_mode(m);

		if (mode)
			c->path[m][0] = '\0';
		for (size_t i = 0; mode && i < mode->count; i++)
			cp_config_reader_default(&mode->rows[i], cp_config_of(c, m));
	}
}

/* gperftools' users often toggle with USR2, the default dump signal, or dump the heap with it. A
 * signal that the user asked for wins over the default. */
static void part_signals(const struct cp_config_reader *r, struct cp_config *c)
{
	const char *dump = cp_config_reader_get(r, "CPROF_SIGNAL");

	c->dump_signal_asked = dump != NULL;
	if (c->heap_signal && c->heap_signal == c->toggle_signal) {
		cp_config_reader_say(r, "HEAPPROFILESIGNAL",
				     cp_config_reader_get(r, "HEAPPROFILESIGNAL"),
				     "a signal other than CPUPROFILESIGNAL's", "none");
		c->heap_signal = 0;
	}
	if (!c->dump_signal ||
	    (c->dump_signal != c->toggle_signal && c->dump_signal != c->heap_signal))
		return;
	c->dump_signal = 0;
	if (dump)
		cp_config_reader_say(
			r, "CPROF_SIGNAL", dump,
			"a signal other than CPUPROFILESIGNAL's and HEAPPROFILESIGNAL's", "none");
}

const char *cp_config_variable(unsigned mode)
{
	const struct cp_config_mode *settings = cp_config_table_mode(mode);

	return settings ? settings->variable : NULL;
}

bool cp_config_any(const struct cp_config *c)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		if (cp_config_table_mode(m) && c->path[m][0])
			return true;
	return false;
}

void cp_config_copy(struct cp_config *to, const struct cp_config *c)
{
	memcpy(to, c, offsetof(struct cp_config, path));
	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		if (cp_config_table_mode(m))
			memcpy(to->path[m], c->path[m], strlen(c->path[m]) + 1);
}

bool cp_config_starts(const struct cp_config *c)
{
	return cp_config_any(c) || c->control == CP_CONTROL_ON;
}

void cp_config_take_mode(struct cp_config *to, const struct cp_config *c, unsigned m)
{
	memcpy(to->path[m], c->path[m], strlen(c->path[m]) + 1);
	memcpy(to->of_mode[m], c->of_mode[m], sizeof(to->of_mode[m]));
	to->nofile[m] = c->nofile[m];
	if (c->named_mode == m)
		to->named_mode = c->named_mode;
}

/* Reads the path of CPROF_CONTROL, if it is one. */
static bool read_control_path(const struct cp_config_reader *r, struct cp_config *c)
{
	const char *value = cp_config_reader_get(r, "CPROF_CONTROL");

	if (!value || *value != '/')
		return false;
	if (cp_config_reader_copy(value, c->control_path, sizeof(c->control_path)))
		c->control = CP_CONTROL_ON;
	else
		cp_config_reader_say(r, "CPROF_CONTROL", value, "a path of up to 90 bytes", "auto");
	return true;
}

static bool is_control(const struct cp_config_row *row)
{
	return !strcmp(row->variable, "CPROF_CONTROL");
}

static void read_common(const struct cp_config_reader *r, struct cp_config *c)
{
	for (size_t i = 0; i < cp_config_table_size; i++)
		if (!is_control(&cp_config_table[i]) || !read_control_path(r, c))
			cp_config_reader_read(r, &cp_config_table[i], c);
	/* A served process must be reachable before a mode is on. */
	if (c->serve[0] && !cp_config_reader_get(r, "CPROF_CONTROL"))
		c->control = CP_CONTROL_ON;
	/* The index of a long run has few events of its last seconds. */
	if (c->dump_on[0] && !cp_config_reader_get(r, "CPROF_TIMES"))
		c->times = CP_CONFIG_TIMES_KEEP | CP_CONFIG_TIMES_DUMP_ON;
}

static void read_path(const struct cp_config_reader *r, struct cp_config *c, unsigned m)
{
	const char *variable = cp_config_variable(m);
	const char *path = variable ? cp_config_reader_get(r, variable) : NULL;

	if (!path)
		return;
	if (cp_config_reader_copy(path, c->path[m], sizeof(c->path[m])))
		c->path[m][0] = cp_path_first(path);
	else
		cp_config_reader_say(r, variable, path, "a path of up to 4095 bytes", "none");
}

/* Two modes can't share a file: the later mode gets NAME.heap.EXT in the same directory. */
static void part_path(const struct cp_config_reader *r, struct cp_config *c, unsigned m,
		      unsigned other)
{
	char path[sizeof(c->path[m])], accepted[64];

	cp_text_format(path, sizeof(path), "%s", c->path[m]);
	if (cp_path_infix(c->path[m], sizeof(c->path[m]), c->path[m], cp_config_table_name(m)))
		c->path[m][0] = '\0';
	cp_text_format(accepted, sizeof(accepted), "a path other than %s's",
		       cp_config_variable(other));
	cp_config_reader_say(r, cp_config_variable(m), path, accepted,
			     c->path[m][0] ? c->path[m] : "none");
}

static void part_paths(const struct cp_config_reader *r, struct cp_config *c)
{
	for (unsigned m = 1; m < CP_MAIN_MODES; m++)
		for (unsigned other = 0; cp_config_table_mode(m) && other < m; other++)
			if (cp_config_table_mode(other) && c->path[m][0] &&
			    !strcmp(c->path[m], c->path[other]))
				part_path(r, c, m, other);
}

static void read_modes(const struct cp_config_reader *r, struct cp_config *c)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const struct cp_config_mode *mode = cp_config_table_mode(m);

		for (size_t i = 0; mode && i < mode->count; i++)
			cp_config_reader_read(r, &mode->rows[i], cp_config_of(c, m));
	}
}

static void read_rest(const struct cp_config_reader *r, struct cp_config *c)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const struct cp_config_mode *mode = cp_config_table_mode(m);

		if (mode && mode->read)
			mode->read(r, c);
	}
}

static bool is_wanted(const struct cp_config_reader *r)
{
	const char *only = cp_config_reader_get(r, "CPROF_ONLY");

	return !only || strlen(only) >= CP_CONFIG_TEXT_SIZE || cp_globs_match(only, r->program);
}

static void read_all(const struct cp_config_reader *reader, struct cp_config *c)
{
	struct cp_config_reader r = *reader;

	cp_config_defaults(c);
	if (r.program && !is_wanted(&r))
		r.quiet = true;
	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		read_path(&r, c, m);
	if (!cp_config_any(c) && !cp_config_reader_get(&r, "CPROF_CONTROL"))
		r.quiet = true;
	read_modes(&r, c);
	read_common(&r, c);
	read_rest(&r, c);
	part_paths(&r, c);
	part_signals(&r, c);
}

void cp_config_read(struct cp_config *c, const char *(*name)(const char *key))
{
	read_all(&(struct cp_config_reader){ .name = name }, c);
}

void cp_config_read_for(struct cp_config *c, const char *(*name)(const char *key),
			const char *program)
{
	read_all(&(struct cp_config_reader){ .name = name, .program = program }, c);
}

void cp_config_read_control(struct cp_config *c, const char *(*name)(const char *key))
{
	const struct cp_config_reader r = { .name = name, .quiet = true };

	for (size_t i = 0; i < cp_config_table_size; i++)
		if (is_control(&cp_config_table[i]) && !read_control_path(&r, c))
			cp_config_reader_read(&r, &cp_config_table[i], c);
}

void cp_config_read_quietly(struct cp_config *c, const char *(*name)(const char *key))
{
	read_all(&(struct cp_config_reader){ .name = name, .quiet = true }, c);
}

void cp_config_read_asked(struct cp_config *c, const char *(*name)(const char *key), char *said,
			  size_t size)
{
	said[0] = '\0';
	read_all(&(struct cp_config_reader){ .name = name, .said = said, .said_size = size }, c);
}

bool cp_config_wants_program(const struct cp_config *c, const char *program)
{
	return !c->only[0] || cp_globs_match(c->only, program);
}
