/* Owner or descendant; see lineage.h. */
#include "lineage.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "sigsafe/sys.h"
#include "sigsafe/text.h"

#define PINNED_MAX ((size_t)2 * CP_PATH_MAX)
#define NUMBER_MAX 11			 /* digits of an int, with its sign */
#define PARENT_BYTES ((size_t)256 << 10) /* read of a parent's environment at most */

static void current_directory(char *to, size_t size)
{
	if (cp_sys2(SYS_getcwd, to, size) < 0)
		cp_format(to, size, "/");
}

#define OWNER 1u
#define ADOPTED 2u

/* "PID FLAGS SEQUENCE BASE" */
static int parse(struct cp_lineage *l, const char *s)
{
	uint64_t pid, flags, sequence;

	if (cp_parse_u64(&s, 10, &pid) || *s++ != ' ' || cp_parse_u64(&s, 10, &flags) ||
	    *s++ != ' ' || cp_parse_u64(&s, 10, &sequence) || *s++ != ' ' || *s != '/')
		return -EINVAL;
	l->adopted |= (flags & ADOPTED) != 0;
	/* The same pid: an exec without a fork goes on as what it was. */
	if ((int)pid == cp_sys_getpid()) {
		l->owner = (flags & OWNER) != 0;
		l->sequence = (unsigned)sequence;
	} else {
		l->owner = false;
		l->sequence = 0;
	}
	cp_format(l->base, sizeof(l->base), "%s", s);
	return 0;
}

static const char *take_variable(char **environment)
{
	size_t n = sizeof(CP_LINEAGE_VARIABLE) - 1;
	const char *value = NULL;
	char **to = environment;

	for (char **from = environment; from && *from; from++)
		if (!strncmp(*from, CP_LINEAGE_VARIABLE "=", n + 1))
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

	return !strcmp(pinned, given) || (given[0] != '/' && n > m && pinned[n - m - 1] == '/' &&
					  !strcmp(pinned + n - m, given));
}

/* TEXT, NUL-separated variables, holds NAME= with this path, or with PATH NULL a NAME= that
 * mentions PART. */
static bool holds(const char *text, size_t size, const char *name, const char *path,
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
	for (unsigned m = 0; m < CP_MAIN_MODES; m++)
		if (*value_in(environment, cp_config_variable(m)))
			return true;
	return false;
}

/* TEXT holds one of our variables as ENVIRONMENT has it. */
static bool holds_ours(const char *text, size_t size, char **environment)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const char *variable = cp_config_variable(m);
		const char *path = value_in(environment, variable);

		if (*path && holds(text, size, variable, path, NULL))
			return true;
	}
	return false;
}

/* The parent was itself started for this profile and with this library: then it, or one
 * above it, owns the name. Only its environment at its own start is looked at, so a shell
 * that merely exported the variables is no such parent. */
static bool parent_is_profiled(char **environment)
{
	char path[64], *text = cp_sys_map(PARENT_BYTES);
	size_t have = 0;
	bool found;
	long got;
	int fd;

	if (!text)
		return false;
	cp_format(path, sizeof(path), "/proc/%d/environ", cp_sys_getppid());
	fd = cp_sys_open(path, O_RDONLY, 0);
	while (fd >= 0 && have < PARENT_BYTES - 1 &&
	       (got = cp_sys_read(fd, text + have, PARENT_BYTES - 1 - have)) > 0)
		have += (size_t)got;
	if (fd >= 0)
		cp_sys_close(fd);
	found = holds_ours(text, have, environment) &&
		holds(text, have, "LD_PRELOAD", NULL, "libcprof");
	cp_sys_unmap(text, PARENT_BYTES);
	return found;
}

/* An image of this process before its last exec may have asked for it. */
static bool adopts(void)
{
	int asked = 0;

	cp_sys2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &asked);
	return asked || cp_sys_getpid() == 1;
}

void cp_lineage_read(struct cp_lineage *l, char **environment)
{
	const char *value = take_variable(environment);

	*l = (struct cp_lineage){ .owner = true, .adopted = adopts() };
	/* A set-user-id program doesn't let its caller say where it writes. */
	if (value && !getauxval(AT_SECURE) && parse(l, value) == 0)
		return;
	current_directory(l->base, sizeof(l->base));
	if (asks_for_any(environment) && parent_is_profiled(environment))
		l->owner = false;
}

/* The directory's % are no templates. */
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

const char *cp_lineage_pin(const struct cp_lineage *l, char **environment, const char *variable,
			   const char *path)
{
	size_t name = strlen(variable), n;
	char *text;

	if (path[0] == '/')
		return path;
	text = cp_sys_map(PINNED_MAX);
	if (!text)
		return path;
	n = cp_format(text, PINNED_MAX, "%s=", variable);
	n += append_literal(text + n, PINNED_MAX - n, l->base);
	cp_format(text + n, PINNED_MAX - n, "%s%s", l->base[1] ? "/" : "", path);
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, text, name + 1))
			*environment = text;
	return text + name + 1;
}

void cp_lineage_write(const struct cp_lineage *l, int pid, unsigned sequence, char *to, size_t size)
{
	unsigned flags = (pid && l->owner ? OWNER : 0) | (l->adopted ? ADOPTED : 0);

	cp_format(to, size, CP_LINEAGE_VARIABLE "=%d %u %u %s", pid, flags, pid ? sequence : 0,
		  l->base);
}

size_t cp_lineage_room(const struct cp_lineage *l)
{
	return sizeof(CP_LINEAGE_VARIABLE "= 1  ") + 2 * NUMBER_MAX + strlen(l->base);
}
