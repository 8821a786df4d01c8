/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the process; see live.h. */
#include "live/live.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dwarf/dwarf.h"
#include "verbs/verbs.h"

/* Seconds to wait at the end for a process that doesn't answer. */
#define PATIENCE_SECONDS 3

struct ct_live_watch {
	int pid, bell;
	const char *const *settings;
	double lease;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* on the monotonic clock */

	/* Under the lock: the wishes, and the news. */
	double every;
	bool wanted[CT_MODES], threads, gone, quit, done;
	bool hurry; /* the wishes have changed */
	struct ct_live_news news;
	bool has_news;

	/* Used by the thread only. */
	struct ct_window *windows[CT_MODES];
	double taken[CT_MODES]; /* time of the last take */
};

static struct timespec time_of(double seconds)
{
	struct timespec t = { (time_t)seconds, 0 };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	return t;
}

/* ---- news ---- */

static void release_news(struct ct_live_news *n)
{
	for (int m = 0; m < CT_MODES; m++) {
		ct_model_free(n->profiles[m]);
		for (int i = 0; i < CT_COMPANIONS; i++)
			ct_model_free(n->companions[m][i]);
	}
	ct_model_free(n->threads);
	free(n->said);
	*n = (struct ct_live_news){ 0 };
}

static void replace_profile(struct ct_profile **to, struct ct_profile *with)
{
	ct_model_free(*to);
	*to = with;
}

/* Returns the news to be filled in. The caller ends with ring(). */
static struct ct_live_news *tell_news(struct ct_live_watch *w)
{
	pthread_mutex_lock(&w->lock);
	return &w->news;
}

static void ring(struct ct_live_watch *w)
{
	const uint64_t one = 1;

	w->has_news = true;
	for (int m = 0; m < CT_MODES; m++) {
		w->news.watched[m] = w->windows[m] != NULL;
		w->news.started[m] = w->windows[m] && !ct_window_was_on(w->windows[m]);
	}
	pthread_mutex_unlock(&w->lock);
	while (write(w->bell, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void say_news(struct ct_live_watch *w, char *text)
{
	struct ct_live_news *n = tell_news(w);

	free(n->said);
	n->said = text;
	ring(w);
}

/* ---- windows ---- */

static bool open_window(struct ct_live_watch *w, int mode)
{
	const struct ct_window_how how = { .mode = ct_control_modes[mode].name,
					   .setting = w->settings[mode],
					   .lease = w->lease };
	char *why;

	w->taken[mode] = ct_now();
	if (!ct_window_open(&w->windows[mode], w->pid, &how, &why))
		return true;
	w->windows[mode] = NULL;
	say_news(w, why);
	return false;
}

/* Somebody else turned the mode off, or this program was stopped for longer than its lease. */
static void was_turned_off(struct ct_live_watch *w, int mode)
{
	const char *name = ct_control_modes[mode].name;
	bool expired = !ct_window_was_on(w->windows[mode]) && ct_now() - w->taken[mode] > w->lease;

	ct_window_close(w->windows[mode]);
	w->windows[mode] = NULL;
	if (expired && open_window(w, mode)) {
		say_news(w,
			 ct_memory_printf("%s ended while this screen was stopped, and is on again",
					  name));
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->wanted[mode] = false;
	pthread_mutex_unlock(&w->lock);
	if (!expired)
		say_news(w, ct_memory_printf("%s was turned off by another; its key turns it on",
					     name));
}

static void note_end(struct ct_live_watch *w)
{
	tell_news(w)->ended = true;
	w->gone = true;
	ring(w);
}

static void take_window(struct ct_live_watch *w, int mode)
{
	struct ct_window_taken t;
	struct ct_live_news *n;
	char *why;

	switch (ct_window_take(w->windows[mode], &t, &why)) {
	case CT_WINDOW_OK:
		n = tell_news(w);
		replace_profile(&n->profiles[mode], t.profile);
		for (int i = 0; i < CT_COMPANIONS; i++)
			replace_profile(&n->companions[mode][i], t.companions[i]);
		ring(w);
		w->taken[mode] = ct_now();
		break;
	case CT_WINDOW_ENDED:
		free(why);
		note_end(w);
		break;
	case CT_WINDOW_STOPPED:
		free(why);
		was_turned_off(w, mode);
		break;
	case CT_WINDOW_FAILED: say_news(w, why); break;
	}
}

/* ---- the rest ---- */

static void ask_status(struct ct_live_watch *w)
{
	struct cp_control_message m;
	struct ct_live_news *n;
	char *why = ct_control_status(w->pid, &m);

	if (why && kill(w->pid, 0) && errno == ESRCH) {
		free(why);
		note_end(w);
		return;
	}
	if (why) {
		say_news(w, why);
		return;
	}
	n = tell_news(w);
	n->status = m;
	n->has_status = true;
	ring(w);
}

static void ask_threads(struct ct_live_watch *w)
{
	char *why;
	struct ct_profile *p = ct_control_profile_threads(w->pid, &why);

	if (!p) {
		say_news(w, why);
		return;
	}
	ct_symbolize_here(p);
	replace_profile(&tell_news(w)->threads, p);
	ring(w);
}

static bool wants(struct ct_live_watch *w, const bool *what)
{
	bool is;

	pthread_mutex_lock(&w->lock);
	is = *what && !w->gone && !w->quit;
	pthread_mutex_unlock(&w->lock);
	return is;
}

static bool open_wanted(struct ct_live_watch *w)
{
	bool opened = false;

	for (int m = 0; m < CT_MODES; m++) {
		if (w->windows[m] || !wants(w, &w->wanted[m]))
			continue;
		if (open_window(w, m)) {
			opened = true;
			continue;
		}
		pthread_mutex_lock(&w->lock);
		w->wanted[m] = false;
		pthread_mutex_unlock(&w->lock);
	}
	return opened;
}

static const bool always = true;

static void look_at_process(struct ct_live_watch *w)
{
	for (int m = 0; m < CT_MODES; m++)
		if (w->windows[m] && wants(w, &always))
			take_window(w, m);
	if (wants(w, &w->threads))
		ask_threads(w);
	if (wants(w, &always))
		ask_status(w);
}

/* Sleeps until WHEN or until the wishes change. Returns false at the end. */
static bool rest(struct ct_live_watch *w, double when, bool *changed)
{
	const struct timespec t = time_of(when);
	bool goes_on;

	*changed = false;
	pthread_mutex_lock(&w->lock);
	if (!w->quit && !w->hurry)
		*changed = pthread_cond_timedwait(&w->changed, &w->lock, &t) == 0;
	w->hurry = false;
	goes_on = !w->quit;
	pthread_mutex_unlock(&w->lock);
	return goes_on;
}

static double every(struct ct_live_watch *w)
{
	double seconds;

	pthread_mutex_lock(&w->lock);
	seconds = w->gone ? 3600 : w->every;
	pthread_mutex_unlock(&w->lock);
	return seconds;
}

static void *watch_process(void *arg)
{
	struct ct_live_watch *w = arg;
	double last = ct_now();
	bool changed;

	open_wanted(w);
	ask_status(w);
	while (rest(w, last + every(w), &changed)) {
		/* The first window of a mode is as long as the later ones. */
		if (open_wanted(w))
			last = ct_now();
		if (changed && wants(w, &w->threads))
			ask_threads(w);
		if (ct_now() < last + every(w))
			continue;
		last = ct_now();
		look_at_process(w);
	}
	for (int m = 0; m < CT_MODES; m++)
		ct_window_close(w->windows[m]);
	pthread_mutex_lock(&w->lock);
	w->done = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- for the main thread ---- */

struct ct_live_watch *ct_live_watch_new(int pid, double seconds, const char *const *settings)
{
	struct ct_live_watch *w = ct_memory_alloc(sizeof(*w));
	pthread_condattr_t attributes;

	w->pid = pid;
	w->every = seconds;
	w->settings = settings;
	w->lease = CT_LIVE_LEASE;
	w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (w->bell < 0 || pthread_create(&w->thread, NULL, watch_process, w)) {
		if (w->bell >= 0)
			close(w->bell);
		free(w);
		return NULL;
	}
	return w;
}

static void change_mode(struct ct_live_watch *w)
{
	w->hurry = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

bool ct_live_watch_end(struct ct_live_watch *w)
{
	const struct timespec t = time_of(ct_now() + PATIENCE_SECONDS);
	bool done;

	pthread_mutex_lock(&w->lock);
	w->quit = true;
	change_mode(w);
	pthread_mutex_lock(&w->lock);
	while (!w->done && !pthread_cond_timedwait(&w->changed, &w->lock, &t))
		;
	done = w->done;
	pthread_mutex_unlock(&w->lock);
	if (!done)
		return false;
	pthread_join(w->thread, NULL);
	release_news(&w->news);
	close(w->bell);
	free(w);
	return true;
}

int ct_live_watch_fd(const struct ct_live_watch *w)
{
	return w->bell;
}

bool ct_live_watch_news(struct ct_live_watch *w, struct ct_live_news *news)
{
	uint64_t rings;
	bool any;

	while (read(w->bell, &rings, sizeof(rings)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&w->lock);
	any = w->has_news;
	*news = w->news;
	w->news = (struct ct_live_news){ 0 };
	w->has_news = false;
	pthread_mutex_unlock(&w->lock);
	return any;
}

void ct_live_watch_mode(struct ct_live_watch *w, int mode)
{
	pthread_mutex_lock(&w->lock);
	w->wanted[mode] = true;
	change_mode(w);
}

void ct_live_watch_threads(struct ct_live_watch *w, bool wanted)
{
	pthread_mutex_lock(&w->lock);
	w->threads = wanted;
	change_mode(w);
}

void ct_live_watch_every(struct ct_live_watch *w, double seconds)
{
	pthread_mutex_lock(&w->lock);
	w->every = seconds;
	change_mode(w);
}

void ct_live_watch_gone(struct ct_live_watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->gone = true;
	change_mode(w);
}
