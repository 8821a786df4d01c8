/* SPDX-License-Identifier: BSD-3-Clause */
/* The paths of net/http/pprof, fgprof and godeltaprof, and our own; see serve.h. */
#include "serve/serve.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const struct ct_serve_kind ct_serve_route_kinds[] = {
	{ "allocs", "heap", "heap", CT_SERVE_TOTAL, "allocs",
	  "A sampling of all memory allocations since the heap mode was turned on" },
	{ "block", "lock", "lock", CT_SERVE_TOTAL, "block",
	  "Stacks that waited for locks, condition variables and semaphores, and for how long" },
	{ "delta_block", "lock", "lock", CT_SERVE_DELTA, "block.pprof.gz", NULL },
	{ "delta_heap", "heap", "heap", CT_SERVE_DELTA, "heap.pprof.gz", NULL },
	{ "delta_mutex", "lock", "holders", CT_SERVE_DELTA, "mutex.pprof.gz", NULL },
	{ "event", "event", "event", CT_SERVE_TOTAL, "event",
	  "Stacks of page faults, or of the event that the event mode counts" },
	{ "fgprof", "wall", "wall", CT_SERVE_WINDOW, "profile", NULL },
	{ "heap", "heap", "heap", CT_SERVE_TOTAL, "heap",
	  "A sampling of memory allocations that are still in use" },
	{ "io", "io", "io", CT_SERVE_TOTAL, "io",
	  "Stacks that read, wrote and opened files and sockets, and for how long" },
	{ "mutex", "lock", "holders", CT_SERVE_TOTAL, "mutex",
	  "Stacks that released locks for which others waited, and for how long those waited" },
	{ "profile", "cpu", "cpu", CT_SERVE_WINDOW, "profile",
	  "CPU profile of the next 30 seconds; seconds= sets how many" },
	{ "wakers", "lock", "wakers", CT_SERVE_TOTAL, "wakers",
	  "Stacks that waited for conditions, semaphores and threads, each with the stack that "
	  "ended the wait" },
	{ NULL, NULL, NULL, CT_SERVE_WINDOW, NULL, NULL }
};

static const struct ct_serve_kind *kind_of(const char *name)
{
	for (const struct ct_serve_kind *k = ct_serve_route_kinds; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

const struct ct_serve_kind *ct_serve_route_shown(const char *mode)
{
	static const char *const shown[][2] = {
		{ "cpu", "profile" }, { "wall", "fgprof" },   { "heap", "heap" },
		{ "lock", "block" },  { "holders", "mutex" }, { "wakers", "wakers" },
		{ "io", "io" },	      { "event", "event" },
	};

	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		if (!strcmp(shown[i][0], mode))
			return kind_of(shown[i][1]);
	return NULL;
}

static struct ct_serve_route route(enum ct_serve_what what)
{
	return (struct ct_serve_route){ .what = what };
}

/* Returns the route of a path below /debug/pprof/. */
static struct ct_serve_route of_pprof(const char *name)
{
	static const struct {
		const char *name;
		enum ct_serve_what what;
	} others[] = { { "", CT_SERVE_INDEX },
		       { "cmdline", CT_SERVE_CMDLINE },
		       { "goroutine", CT_SERVE_THREADS },
		       { "symbol", CT_SERVE_SYMBOL },
		       { "threadcreate", CT_SERVE_THREADCREATE } };
	const struct ct_serve_kind *k = kind_of(name);

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i].name))
			return route(others[i].what);
	if (!k || !strcmp(name, "fgprof"))
		return route(CT_SERVE_NOTHING);
	return (struct ct_serve_route){ .what = CT_SERVE_PROFILE, .kind = k };
}

/* Returns the route of a path of one process. */
static struct ct_serve_route of_process(const char *path)
{
	static const char pprof[] = "/debug/pprof";

	if (!strcmp(path, "/debug/fgprof"))
		return (struct ct_serve_route){ .what = CT_SERVE_PROFILE,
						.kind = kind_of("fgprof") };
	if (!strcmp(path, "/flame"))
		return route(CT_SERVE_FLAME);
	if (!strcmp(path, pprof))
		return route(CT_SERVE_MOVED);
	if (!strncmp(path, pprof, strlen(pprof)) && path[strlen(pprof)] == '/')
		return of_pprof(path + strlen(pprof) + 1);
	return route(CT_SERVE_NOTHING);
}

struct ct_serve_route ct_serve_route_of(const char *path)
{
	struct ct_serve_route r;
	char *end;
	long pid;

	if (!strcmp(path, "/"))
		return route(CT_SERVE_HOME);
	if (!strcmp(path, "/targets"))
		return route(CT_SERVE_TARGETS);
	if (!strcmp(path, "/metrics"))
		return route(CT_SERVE_METRICS);
	if (strncmp(path, "/pid/", 5))
		return of_process(path);
	errno = 0;
	pid = strtol(path + 5, &end, 10);
	if (path[5] < '1' || path[5] > '9' || errno || pid > INT_MAX)
		return route(CT_SERVE_NOTHING);
	if (!*end || !strcmp(end, "/"))
		r = route(CT_SERVE_MOVED);
	else
		r = of_process(end);
	r.pid = (int)pid;
	return r;
}

bool ct_serve_route_seconds(const char *text, long *seconds)
{
	char *end;
	long n;

	if (!text || *text < '+' || *text > '9')
		return false;
	errno = 0;
	n = strtol(text, &end, 10);
	if (end == text || *end || errno || n <= 0)
		return false;
	*seconds = n;
	return true;
}
