/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches of a thread; see wall_switches.h. */
#include "modes/wall/wall_switches.h"

#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "modes/wall/signal/wall_thread.h"

/* Reading takes 10 to 20 us, which is as much as several visits. */
#define INTERVAL_NS 1000000000u

/* Return the number behind NAME in TEXT, or 0. */
static uint64_t number_of(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	uint64_t n = 0;

	if (!p)
		return 0;
	p += strlen(name);
	cp_text_parse_u64(&p, 10, &n);
	return n;
}

static bool read_status(int tid, char *text, size_t size)
{
	char path[64];
	long got;
	int fd;

	cp_text_format(path, sizeof(path), "/proc/self/task/%d/status", tid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	got = cp_sys_read(fd, text, size - 1);
	cp_sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

void cp_wall_switches_read(struct cp_thread *t, uint64_t now)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	char text[4096];
	uint64_t slept, preempted, all;

	if ((w->switched && now - w->switched < INTERVAL_NS) ||
	    !read_status(t->tid, text, sizeof(text)))
		return;
	slept = number_of(text, "\nvoluntary_ctxt_switches:\t");
	preempted = number_of(text, "\nnonvoluntary_ctxt_switches:\t");
	all = slept - w->slept + preempted - w->preempted;
	if (all)
		w->woken = (uint32_t)((slept - w->slept) * 256 / all);
	w->slept = slept;
	w->preempted = preempted;
	w->switched = now;
}
