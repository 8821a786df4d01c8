/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h. */
#include "serve/serve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_process(struct ct_serve_processes *all, int pid,
			const struct cp_control_message *status)
{
	struct ct_serve_process *p = CT_PUSH(all->items, all->count, all->room);
	char *program = ct_control_value(status, "program");

	*p = (struct ct_serve_process){ pid, program ? program : ct_memory_strdup("?"), *status };
}

bool ct_serve_processes_wants(const struct ct_serve_pids *only,
			      const struct cp_control_message *status)
{
	char *value = only->asked ? ct_control_value(status, "serve") : NULL;
	bool wants = !only->asked || (value && !strcmp(value, only->asked));

	free(value);
	return wants;
}

bool ct_serve_processes_has(const struct ct_serve_pids *only, int pid, bool ask)
{
	struct cp_control_message m;
	char *why;
	bool has;

	if (!only->asked && !ask)
		return true;
	why = ct_control_status(pid, &m);
	has = !why && !m.result && ct_serve_processes_wants(only, &m);
	free(why);
	return has;
}

struct seen {
	struct ct_serve_processes *all;
	const struct ct_serve_pids *only;
};

/* One of another pid namespace that we can't see has no pid here, and can't be asked by it. We
 * ourselves may be profiled, too, but not by ourselves. */
static void see(const struct ct_controlled *p, const struct cp_control_message *status, void *arg)
{
	const struct seen *s = arg;

	if (p->pid && p->pid != getppid() && p->pid != getpid() &&
	    ct_serve_processes_wants(s->only, status))
		add_process(s->all, p->pid, status);
}

static int by_pid(const void *a, const void *b)
{
	const struct ct_serve_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

void ct_serve_processes_ask(struct ct_serve_processes *all, const struct ct_serve_pids *only,
			    bool spans)
{
	const struct ct_control_which which = { only->pids, only->count, spans, NULL };

	*all = (struct ct_serve_processes){ 0 };
	ct_control_each(&which, see, &(struct seen){ all, only });
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), by_pid);
}

bool ct_serve_processes_is_on(const struct ct_serve_process *p, const char *mode)
{
	return ct_control_mode_number(&p->status, mode, "since") != 0;
}

bool ct_serve_processes_loses_time(const char *mode)
{
	int m = ct_control_modes_find(mode);

	return m >= 0 && ct_control_modes[m].waits;
}
