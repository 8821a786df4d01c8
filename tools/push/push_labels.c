/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the labels of a process; see push.h. */
#include "push/push.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_MAX 2048

struct labels {
	struct label {
		char *key, *value;
	} * items;
	size_t count, room;
};

/* Later values replace earlier ones. */
static void set_label(struct labels *l, const char *key, const char *value)
{
	size_t i = 0;

	while (i < l->count && strcmp(l->items[i].key, key))
		i++;
	if (i == l->count)
		*CT_PUSH(l->items, l->count, l->room) =
			(struct label){ ct_memory_strdup(key), NULL };
	free(l->items[i].value);
	l->items[i].value = ct_memory_printf("%.*s", VALUE_MAX, value);
	for (char *c = l->items[i].value; *c; c++)
		if (*c == '\n')
			*c = ' ';
}

char *ct_push_labels_variable(int pid, const char *name)
{
	char *path = ct_memory_printf("/proc/%d/environ", pid), *item = NULL, *value = NULL;
	FILE *f = fopen(path, "re");
	size_t room = 0, n = strlen(name);

	while (f && !value && getdelim(&item, &room, '\0', f) > 0)
		if (!strncmp(item, name, n) && item[n] == '=')
			value = ct_memory_strdup(item + n + 1);
	if (f)
		fclose(f);
	free(item);
	free(path);
	return value;
}

static int hex(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/* Decodes OpenTelemetry's lists, which are percent-encoded. */
static void decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
			*to++ = (char)(hex(s[1]) << 4 | hex(s[2]));
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static char *trimmed_text(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	for (n = strlen(s); n && (s[n - 1] == ' ' || s[n - 1] == '\t'); n--)
		s[n - 1] = '\0';
	return s;
}

bool ct_push_labels_is_good(const char *text)
{
	size_t n = strcspn(text, "=");

	if (!n || text[n] != '=' || !(isalpha((unsigned char)*text) || *text == '_') ||
	    !strncmp(text, "__", 2))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '.')
			return false;
	return true;
}

/* Returns the key that receivers of profiles use for one of OpenTelemetry's. */
static const char *short_key(const char *key)
{
	static const char *const keys[][2] = {
		{ "service.name", "service_name" }, { "host.name", "host" },
		{ "k8s.pod.name", "pod" },	    { "k8s.namespace.name", "namespace" },
		{ "k8s.node.name", "node" },	    { "process.pid", "pid" }
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i][0], key))
			return keys[i][1];
	return key;
}

/* Sets the labels of a list "key=value,key=value". */
static void set_list(struct labels *l, char *list, bool encoded)
{
	char *rest = list, *item;

	while (list && (item = strtok_r(rest, ",", &rest))) {
		char *equals = strchr(item, '=');

		item = trimmed_text(item);
		if (!equals || !ct_push_labels_is_good(item))
			continue;
		*equals = '\0';
		if (encoded)
			decode(equals + 1);
		set_label(l, short_key(trimmed_text(item)), trimmed_text(equals + 1));
	}
	free(list);
}

static void set_variable(struct labels *l, int pid, const char *variable, const char *key)
{
	char *value = ct_push_labels_variable(pid, variable);

	if (value && *value)
		set_label(l, key, value);
	free(value);
}

static char *joined_labels(struct labels *l)
{
	char *text = ct_memory_strdup("");

	for (size_t i = 0; i < l->count; i++) {
		char *before = text;

		if (*l->items[i].value)
			text = ct_memory_printf("%s%s=%s\n", before, l->items[i].key,
						l->items[i].value);
		if (text != before)
			free(before);
		free(l->items[i].key);
		free(l->items[i].value);
	}
	free(l->items);
	return text;
}

char *ct_push_labels_of(int pid, const char *program, int ended,
			const struct ct_push_labels_how *how)
{
	char host[256] = "", number[16];
	struct labels l = { 0 };

	gethostname(host, sizeof(host) - 1);
	snprintf(number, sizeof(number), "%d", ended ? ended : pid);
	set_label(&l, "service_name", program);
	set_label(&l, "host", host);
	set_label(&l, "pid", number);
	set_variable(&l, pid, "POD_NAME", "pod");
	set_variable(&l, pid, "POD_NAMESPACE", "namespace");
	set_variable(&l, pid, "NODE_NAME", "node");
	set_list(&l, ct_push_labels_variable(pid, "CPROF_LABELS"), false);
	set_list(&l, ct_push_labels_variable(pid, "OTEL_RESOURCE_ATTRIBUTES"), true);
	set_variable(&l, pid, "OTEL_SERVICE_NAME", "service_name");
	if (how->name)
		set_label(&l, "service_name", how->name);
	for (unsigned long i = 0; i < how->own->count; i++)
		set_list(&l, ct_memory_strdup(how->own->items[i]), false);
	return joined_labels(&l);
}
