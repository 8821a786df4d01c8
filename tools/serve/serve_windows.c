/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h. */
#include "serve/serve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The windows, in the order in which they were last used. */
static struct ct_serve_window *windows;

static void unlink_window(struct ct_serve_window *w)
{
	struct ct_serve_window **at = &windows;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

static void append_window(struct ct_serve_window *w)
{
	struct ct_serve_window **at = &windows;

	while (*at)
		at = &(*at)->next;
	*at = w;
	w->next = NULL;
}

static struct ct_serve_window *find_window(const char *key, int pid, const char *mode)
{
	struct ct_serve_window *w = key ? windows : NULL;

	while (w && (w->pid != pid || strcmp(w->mode, mode) != 0 || !w->key || strcmp(w->key, key)))
		w = w->next;
	return w;
}

bool ct_serve_windows_full(const char *key, int pid, const char *mode)
{
	unsigned all = 0, of_mode = 0;

	if (!key || find_window(key, pid, mode))
		return false;
	for (struct ct_serve_window *w = windows; w; w = w->next) {
		bool counts = w->key && !w->shared && !ct_control_has_ended(w->pid);

		all += counts;
		of_mode += counts && w->pid == pid && !strcmp(w->mode, mode);
	}
	return all >= CT_SERVE_KEPT || of_mode >= CT_SERVE_KEPT_OF_MODE;
}

struct ct_serve_window *ct_serve_windows_take(const char *key, int pid, const char *mode,
					      bool shared)
{
	struct ct_serve_window *w = find_window(key, pid, mode);

	if (!w) {
		w = ct_memory_alloc(sizeof(*w));
		*w = (struct ct_serve_window){ .key = key ? ct_memory_strdup(key) : NULL,
					       .pid = pid,
					       .mode = mode,
					       .shared = shared,
					       .id = ct_window_id_new(),
					       .until = -1 };
		append_window(w);
	}
	if (w->ending || (w->users && !shared))
		return NULL;
	w->users++;
	return w;
}

/* ---- the end ---- */

static void free_window(struct ct_serve_window *w)
{
	ct_serve_windows_drop(w, INFINITY);
	unlink_window(w);
	free(w->key);
	free(w);
}

static bool is_kept(const struct ct_serve_window *w)
{
	return !w->users && !w->ending;
}

void ct_serve_windows_release(struct ct_serve_window *w, double until)
{
	if (w->until < until)
		w->until = until;
	if (--w->users)
		return;
	if (w->until < 0) {
		free_window(w);
		return;
	}
	unlink_window(w);
	append_window(w);
}

struct ct_serve_window *ct_serve_windows_due(double now, bool all)
{
	struct ct_serve_window *w = windows;

	while (w && (!is_kept(w) || (w->until > now && !all)))
		w = w->next;
	if (w)
		w->ending = true;
	return w;
}

void ct_serve_windows_ended(struct ct_serve_window *w)
{
	free_window(w);
}

double ct_serve_windows_next(void)
{
	double next = -1;

	for (struct ct_serve_window *w = windows; w; w = w->next)
		if (is_kept(w) && (next < 0 || w->until < next))
			next = w->until;
	return next;
}

/* ---- parts ---- */

static void drop_first(struct ct_serve_window *w)
{
	close(w->parts[0].fd);
	memmove(&w->parts[0], &w->parts[1], --w->part_count * sizeof(*w->parts));
}

void ct_serve_windows_drop(struct ct_serve_window *w, double time)
{
	w->missing = 0;
	while (w->part_count && w->parts[0].time < time)
		drop_first(w);
}

static void give_up_first(struct ct_serve_window *w)
{
	w->missing++;
	drop_first(w);
}

static long long bytes_of(const struct ct_serve_window *w)
{
	long long bytes = 0;

	for (unsigned i = 0; i < w->part_count; i++)
		bytes += w->parts[i].bytes;
	return bytes;
}

/* Returns the window with the oldest part of all, or NULL if all parts have room. */
static struct ct_serve_window *oldest_of_too_many(void)
{
	struct ct_serve_window *oldest = NULL;
	long long bytes = 0;

	for (struct ct_serve_window *w = windows; w; w = w->next) {
		bytes += bytes_of(w);
		if (w->part_count && (!oldest || w->parts[0].time < oldest->parts[0].time))
			oldest = w;
	}
	return bytes > CT_SERVE_ALL_PARTS_BYTES ? oldest : NULL;
}

void ct_serve_windows_put(struct ct_serve_window *w, double now, int fd)
{
	struct stat st;
	long long bytes = fstat(fd, &st) ? 0 : st.st_size;

	while (w->part_count &&
	       (w->part_count == CT_SERVE_PARTS || bytes_of(w) + bytes > CT_SERVE_PARTS_BYTES))
		give_up_first(w);
	w->parts[w->part_count++] = (struct ct_serve_part){ fd, now, bytes };
	while ((w = oldest_of_too_many()))
		give_up_first(w);
}
