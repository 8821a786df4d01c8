/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve_modes.h. */
#include "serve/serve_modes.h"

#include <stddef.h>
#include <string.h>

#include "core/memory.h"
#include "serve/serve.h"

struct entry {
	int pid;
	const char *mode; /* of a kind: never freed */
	unsigned users;
	double until;  /* needed until then, at least */
	double keep;   /* without users, too */
	bool ours;     /* a request has turned it on */
	bool held;     /* a request took dumps: it doesn't end with the last window */
	bool stopping; /* it is being turned off */
};

static struct entry *entries;
static size_t count, room;

static struct entry *find(int pid, const char *mode)
{
	for (size_t i = 0; i < count; i++)
		if (entries[i].pid == pid && !strcmp(entries[i].mode, mode))
			return &entries[i];
	return NULL;
}

bool ct_serve_modes_take(int pid, const char *mode, double now, double until, double *lease)
{
	struct entry *e = find(pid, mode);

	if (!e) {
		e = CT_PUSH(entries, count, room);
		*e = (struct entry){ .pid = pid, .mode = mode };
	}
	if (e->stopping)
		return false;
	e->users++;
	if (e->until < until)
		e->until = until;
	*lease = e->until - now + CT_SERVE_GRACE;
	return true;
}

static void drop(struct entry *e)
{
	*e = entries[--count];
}

void ct_serve_modes_release(int pid, const char *mode, bool started, bool holds, double keep)
{
	struct entry *e = find(pid, mode);

	if (!e)
		return;
	e->ours |= started;
	e->held |= holds;
	if (e->keep < keep)
		e->keep = keep;
	if (--e->users)
		return;
	e->until = e->keep;
	if (!e->ours || !e->held)
		drop(e);
}

bool ct_serve_modes_due(double now, bool all, int *pid, const char **mode)
{
	for (size_t i = 0; i < count; i++) {
		struct entry *e = &entries[i];

		if (e->users || e->stopping || (e->until > now && !all))
			continue;
		e->stopping = true;
		*pid = e->pid;
		*mode = e->mode;
		return true;
	}
	return false;
}

void ct_serve_modes_ended(int pid, const char *mode)
{
	struct entry *e = find(pid, mode);

	if (e)
		drop(e);
}

double ct_serve_modes_next(void)
{
	double next = -1;

	for (size_t i = 0; i < count; i++)
		if (!entries[i].users && !entries[i].stopping &&
		    (next < 0 || entries[i].until < next))
			next = entries[i].until;
	return next;
}
