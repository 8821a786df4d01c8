/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether this process is an owner or a descendant; see host.h. */
#include "host/host.h"

#include <errno.h>
#include <sys/auxv.h>

#include "output/output.h"
#include "base/text.h"

#define PINNED_MAX ((size_t)2 * CP_PATH_MAX)
#define NUMBER_MAX 11			 /* digits of an int, with its sign */
#define START_MAX 20			 /* digits of a uint64_t */
#define PARENT_BYTES ((size_t)256 << 10) /* most bytes read of a parent's environment */

/* Get the working directory; "" if it has no path, because it was deleted. */
static void current_directory(char *to, size_t size)
{
	/* The kernel writes "(unreachable)/..." for a directory outside of the root directory. */
	if (cp_sys2(SYS_getcwd, to, size) < 0 || *to != '/')
		*to = '\0';
}

#define OWNER 1u
#define SUBREAPER 2u

/* Parse "PID FLAGS SEQUENCE START BASE" in S. */
static int parse_line(struct cp_process_tree *l, const char *s)
{
	uint64_t pid, flags, sequence, start;

	if (cp_text_parse_u64(&s, 10, &pid) || *s++ != ' ' || cp_text_parse_u64(&s, 10, &flags) ||
	    *s++ != ' ' || cp_text_parse_u64(&s, 10, &sequence) || *s++ != ' ' ||
	    cp_text_parse_u64(&s, 10, &start) || *s++ != ' ' || (*s && *s != '/'))
		return -EINVAL;
	l->subreaper |= (flags & SUBREAPER) != 0;
	/* With the same pid, this is an exec without a fork, so the process keeps its role. */
	if ((int)pid == cp_sys_getpid()) {
		l->owner = (flags & OWNER) != 0;
		l->sequence = (unsigned)sequence;
		l->execed = true;
		l->start_ns = start;
	} else {
		l->owner = false;
		l->sequence = 0;
	}
	cp_text_format(l->base, sizeof(l->base), "%s", s);
	return 0;
}

static const char *take_variable(char **environment)
{
	size_t n = sizeof(CP_PROCESS_TREE_VARIABLE) - 1;
	const char *value = NULL;
	char **to = environment;

	for (char **from = environment; from && *from; from++)
		if (!strncmp(*from, CP_PROCESS_TREE_VARIABLE "=", n + 1))
			value = *from + n + 1;
		else
			*to++ = *from;
	if (value)
		*to = NULL;
	return value;
}

static bool same_path(const char *pinned, const char *given)
{
	size_t n = strlen(pinned), m = strlen(given);

	return cp_path_same(pinned, given) ||
	       (cp_path_first(given) != '/' && n > m && pinned[n - m - 1] == '/' &&
		cp_path_same(pinned + n - m, given));
}

/* Return true if TEXT, variables that end with NUL, has NAME with the value PATH or, if PATH is
 * NULL, NAME with a value that mentions PART. */
static bool text_holds(const char *text, size_t size, const char *name, const char *path,
		       const char *part)
{
	size_t n = strlen(name);

	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		const char *v = text + at;

		if (strncmp(v, name, n) || v[n] != '=')
			continue;
		if (path ? same_path(path, v + n + 1) : strstr(v + n + 1, part) != NULL)
			return true;
	}
	return false;
}

static const char *value_in(char **environment, const char *variable)
{
	size_t n = strlen(variable);

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, variable, n) && (*environment)[n] == '=')
			return *environment + n + 1;
	return "";
}

static bool asks_for_any(char **environment)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		if (*value_in(environment, cp_config_variable(m)))
			return true;
	return false;
}

/* Return true if TEXT has one of the profile variables with the same value as ENVIRONMENT. */
static bool holds_ours(const char *text, size_t size, char **environment)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		const char *variable = cp_config_variable(m);
		const char *path = value_in(environment, variable);

		if (*path && text_holds(text, size, variable, path, NULL))
			return true;
	}
	return false;
}

/* Read the environment that the parent was started with into TEXT. Returns its size. */
static size_t read_parent(char *text)
{
	char path[64];
	size_t have = 0;
	long got;
	int fd;

	cp_text_format(path, sizeof(path), "/proc/%d/environ", cp_sys_getppid());
	fd = cp_sys_open(path, O_RDONLY, 0);
	while (fd >= 0 && have < PARENT_BYTES - 1 &&
	       (got = cp_sys_read(fd, text + have, PARENT_BYTES - 1 - have)) > 0)
		have += (size_t)got;
	if (fd >= 0)
		cp_sys_close(fd);
	return have;
}

static bool has_library(const char *text, size_t size)
{
	return text_holds(text, size, "LD_PRELOAD", NULL, "libcprof");
}

/* Return true if the parent was started with this library, and with VARIABLE or, where that is
 * NULL, for the profiles of ENVIRONMENT. */
static bool parent_has(char **environment, const char *variable)
{
	char *text = cp_sys_map(PARENT_BYTES);
	size_t have;
	bool found;

	if (!text)
		return false;
	have = read_parent(text);
	found = variable ? text_holds(text, have, variable, NULL, "")
			 : holds_ours(text, have, environment);
	found = found && has_library(text, have);
	cp_sys_unmap(text, PARENT_BYTES);
	return found;
}

/* Return true if the parent was itself started for this profile and with this library; then it, or
 * one of its ancestors, owns the name. Only the parent's environment at its own start counts, so a
 * shell that merely exported the variables is no such parent. */
static bool parent_is_profiled(char **environment)
{
	return parent_has(environment, NULL);
}

bool cp_process_tree_parent_has(const char *variable)
{
	return parent_has(NULL, variable);
}

/* Return true if orphans become children of this process. A program that ran in this process before
 * its last exec may have asked for that. */
static bool is_subreaper(void)
{
	int asked = 0;

	cp_sys2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &asked);
	return asked || cp_sys_getpid() == 1;
}

void cp_process_tree_read(struct cp_process_tree *l, char **environment)
{
	const char *value = take_variable(environment);

	/* BASE isn't cleared as a whole, because it is a page that is hardly used. */
	l->owner = true;
	l->subreaper = is_subreaper();
	l->sequence = 0;
	l->execed = false;
	l->start_ns = cp_sys_clock_ns(CLOCK_REALTIME);
	l->base[0] = '\0';
	/* A set-user-id program doesn't let its caller choose where it writes. */
	if (value && !getauxval(AT_SECURE) && parse_line(l, value) == 0)
		return;
	current_directory(l->base, sizeof(l->base));
	if (asks_for_any(environment) && parent_is_profiled(environment))
		l->owner = false;
}

/* Append S with each % doubled: a % in the directory's name is no template. */
static size_t append_literal(char *to, size_t size, const char *s)
{
	size_t n = 0;

	for (; *s && n + 2 < size; s++) {
		to[n++] = *s;
		if (*s == '%')
			to[n++] = '%';
	}
	return n;
}

const char *cp_process_tree_pin(const struct cp_process_tree *l, char **environment,
				const char *variable, const char *path)
{
	size_t name = strlen(variable), n;
	char *text, first = cp_path_first(path);

	if (first == '/' || !l->base[0])
		return path;
	text = cp_sys_map(PINNED_MAX);
	if (!text)
		return path;
	n = cp_text_format(text, PINNED_MAX, "%s=", variable);
	n += append_literal(text + n, PINNED_MAX - n, l->base);
	cp_text_format(text + n, PINNED_MAX - n, "%s%c%s", l->base[1] ? "/" : "", first, path + 1);
	/* Keep the mark of PATH's first character, for children that read the variable. */
	text[name + 1] |= (char)(path[0] ^ first);
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, text, name + 1))
			*environment = text;
	return text + name + 1;
}

void cp_process_tree_write(const struct cp_process_tree *l, int pid, unsigned sequence, char *to,
			   size_t size)
{
	unsigned flags = (pid && l->owner ? OWNER : 0) | (l->subreaper ? SUBREAPER : 0);

	cp_text_format(to, size, CP_PROCESS_TREE_VARIABLE "=%d %u %u %lu %s", pid, flags,
		       pid ? sequence : 0, (unsigned long)l->start_ns, l->base);
}

size_t cp_process_tree_room(const struct cp_process_tree *l)
{
	return sizeof(CP_PROCESS_TREE_VARIABLE "= 1   ") + 2 * NUMBER_MAX + START_MAX +
	       strlen(l->base);
}
