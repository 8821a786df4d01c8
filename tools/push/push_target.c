/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the target of a push; see push.h. */
#include "push/push.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
/* The limits are those of the receivers' default configurations. */
static const struct protocol {
	const char *name, *path; /* path of requests, below the URL's own path */
	const char *port;	 /* default port of the receiver */
	size_t samples_max, unpacked_max;
	unsigned batch;
	long depth_max;
} protocols[] = {
	[CT_PUSH_PYROSCOPE] = { "pyroscope", "/push.v1.PusherService/Push", "4040", 16000, (size_t)4 << 20, 64, 1000 },
	[CT_PUSH_INGEST] = { "ingest", "/ingest", NULL, 16000, (size_t)4 << 20, 1, 1000 },
	[CT_PUSH_PARCA] = { "parca", "/api/profiles/writeraw", "7070", 0, (size_t)16 << 20, 64, 0 },
	[CT_PUSH_OTLP] = { "otlp", "/v1development/profiles", "4318", 0, (size_t)4 << 20, 1, 0 },
	[CT_PUSH_DATADOG] = { "datadog", "/profiling/v1/input", "8126", 0, 0, 1, 0 },
};
/* clang-format on */
#define PROTOCOLS (sizeof(protocols) / sizeof(*protocols))

static bool ends_with(const char *s, size_t n, const char *tail)
{
	size_t t = strlen(tail);

	return n >= t && !memcmp(s + n - t, tail, t);
}

/* Returns the length of the URL's scheme and authority: "http://host:4040". */
static size_t authority(const char *url)
{
	const char *host = strstr(url, "://") + 3;

	return (size_t)(host - url) + strcspn(host, "/?#");
}

static bool has_port(const char *url, const char *port)
{
	char *tail = ct_memory_printf(":%s", port);
	bool has = ends_with(url, authority(url), tail);

	free(tail);
	return has;
}

/* Returns the protocol that the URL itself suggests. */
static enum ct_push_kind guess(const char *url, size_t n)
{
	for (size_t i = 0; i < PROTOCOLS; i++)
		if (ends_with(url, n, protocols[i].path))
			return (enum ct_push_kind)i;
	for (size_t i = 0; i < PROTOCOLS; i++)
		if (protocols[i].port && has_port(url, protocols[i].port))
			return (enum ct_push_kind)i;
	return CT_PUSH_PYROSCOPE;
}

static bool is_this_machine(const char *url)
{
	const char *host = strstr(url, "://") + 3;
	size_t n = strcspn(host, "/?#");

	return (!strncmp(host, "localhost", 9) && (n == 9 || host[9] == ':')) ||
	       !strncmp(host, "127.", 4) || !strncmp(host, "[::1]", 5);
}

static int read_url(struct ct_push_target *t, const char *text, const char *to, char **why)
{
	size_t n = strlen(text), i = 0;
	const struct protocol *p;

	if (memchr(text, '@', authority(text))) {
		*why = ct_memory_strdup("a password in a URL can be seen by every user of this "
					"machine: use -user-file, -token-file, or "
					"CPROF_PUSH_USER or CPROF_PUSH_TOKEN in the environment");
		return -1;
	}
	if (strpbrk(text, "?# ") || authority(text) == (size_t)(strstr(text, "://") + 3 - text)) {
		*why = ct_memory_printf("%s is no URL of a receiver, as http://pyroscope:4040",
					text);
		return -1;
	}
	while (n > authority(text) && text[n - 1] == '/')
		n--;
	t->kind = guess(text, n);
	while (to && i < PROTOCOLS && strcmp(protocols[i].name, to))
		i++;
	if (to && i == PROTOCOLS) {
		*why = ct_memory_printf("-to=%s is no protocol: pyroscope, ingest, parca, otlp, "
					"datadog",
					to);
		return -1;
	}
	if (to)
		t->kind = (enum ct_push_kind)i;
	p = &protocols[t->kind];
	t->url = ct_memory_printf("%.*s%s", (int)n, text,
				  ends_with(text, n, p->path) ? "" : p->path);
	t->is_clear_text = !strncmp(text, "http:", 5) && !is_this_machine(text);
	t->samples_max = p->samples_max;
	t->unpacked_max = p->unpacked_max;
	t->batch = p->batch;
	t->depth_max = p->depth_max;
	return 0;
}

int ct_push_target_read(struct ct_push_target *t, const char *text, const char *to, char **why)
{
	*t = (struct ct_push_target){ .batch = 1 };
	if (!strncmp(text, "http://", 7) || !strncmp(text, "https://", 8))
		return read_url(t, text, to, why);
	if (!strncmp(text, "dir:", 4) && text[4]) {
		t->kind = CT_PUSH_DIRECTORY;
		t->url = ct_memory_strdup(text + 4);
		return 0;
	}
	*why = ct_memory_printf("\"%s\" is no target: http://HOST:PORT, https://HOST, or dir:/PATH",
				text);
	return -1;
}

void ct_push_target_release(struct ct_push_target *t)
{
	free(t->url);
}

const char *ct_push_target_protocol(const struct ct_push_target *t)
{
	return t->kind == CT_PUSH_DIRECTORY ? "dir" : protocols[t->kind].name;
}
