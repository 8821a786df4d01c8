/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches of a thread; see wall_switches.h. */
#include "modes/wall/wall_switches.h"

#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "modes/wall/signal/wall_thread.h"

/* Reading takes 10 to 20 us, which is as much as several visits. */
#define INTERVAL_NS 1000000000u

/* Read the number behind NAME in TEXT. */
static bool find_number(const char *text, const char *name, uint64_t *n)
{
	const char *p = strstr(text, name);

	if (!p)
		return false;
	p += strlen(name);
	return !cp_text_parse_u64(&p, 10, n) && *p == '\n';
}

/* Read the end of the file, where the numbers are, into TEXT. The file is longer than TEXT if the
 * process has many groups. */
static bool read_status(int tid, char *text, size_t size)
{
	size_t kept = 0, half = size / 2;
	char path[64];
	long got;
	int fd;

	cp_text_format(path, sizeof(path), "/proc/self/task/%d/status", tid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	while ((got = cp_sys_read(fd, text + kept, size - 1 - kept)) > 0) {
		kept += (size_t)got;
		if (kept > half) {
			memmove(text, text + kept - half, half);
			kept = half;
		}
	}
	cp_sys_close(fd);
	text[kept] = '\0';
	return kept > 0;
}

void cp_wall_switches_read(struct cp_thread *t, uint64_t now)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t slept, preempted, all;
	char text[2048];

	if ((w->switched && now - w->switched < INTERVAL_NS) ||
	    !read_status(t->tid, text, sizeof(text)) ||
	    !find_number(text, "\nvoluntary_ctxt_switches:\t", &slept) ||
	    !find_number(text, "\nnonvoluntary_ctxt_switches:\t", &preempted))
		return;
	all = slept - w->slept + preempted - w->preempted;
	if (all)
		w->woken = (uint32_t)((slept - w->slept) * 256 / all);
	w->slept = slept;
	w->preempted = preempted;
	w->switched = now;
}
