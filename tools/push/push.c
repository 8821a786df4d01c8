/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a push over processes; see push.h. The command is in push_command.c, CPROF_PUSH's helper in
 * verb_push.c.
 */
#include "push/push.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LOOK_SECONDS 1.0

static int end_fd = -1;

static void on_signal(int sig)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)sig;
	if (write(end_fd, &one, sizeof(one)) < 0)
		errno = saved;
	errno = saved;
}

/* Does nothing. Unlike SIG_IGN, such a handler is not inherited by a command. */
static void nothing(int sig)
{
	(void)sig;
}

static void catch_signals(bool ends)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction a = { .sa_handler = nothing, .sa_flags = SA_RESTART };

	sigaction(SIGPIPE, &a, NULL);
	sigaction(SIGXFSZ, &a, NULL);
	a.sa_handler = on_signal;
	for (size_t i = 0; ends && i < sizeof(ending) / sizeof(*ending); i++)
		sigaction(ending[i], &a, NULL);
}

int ct_push_begin(struct ct_push *p, const struct ct_push_how *how, bool catch)
{
	char *why;

	if (catch) /* without CATCH a command will be executed */
		ct_control_raise_descriptors();
	*p = (struct ct_push){ .how = how, .end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	end_fd = p->end;
	catch_signals(catch);
	p->queue = ct_push_queue_open(how->queue, &why);
	if (!p->queue) {
		fprintf(stderr, "cprof push: %s\n", why);
		free(why);
		close(p->end);
		return -1;
	}
	how->follow->queue = p->queue;
	p->follow = ct_push_follow_new(how->follow);
	return 0;
}

static void say_lost(uint64_t n, const char *why)
{
	if (n)
		fprintf(stderr, "cprof push: %" PRIu64 " profile%s lost: %s\n", n,
			n == 1 ? " was" : "s were", why);
}

int ct_push_end(struct ct_push *p)
{
	size_t ended = ct_push_follow_lost(p->follow);
	struct ct_push_counts c;

	/* Turn off the modes that were turned on for us, then send the rest. */
	ct_push_follow_free(p->follow);
	ct_push_queue_close(p->queue, p->how->flush, &c);
	close(p->end);
	if (!p->how->queue->quiet && (!p->idle || c.sent))
		fprintf(stderr, "cprof push: %" PRIu64 " profiles (%.1f KiB) sent to %s\n", c.sent,
			(double)c.sent_bytes / 1024, p->how->target->url);
	if (c.kept)
		fprintf(stderr,
			"cprof push: %" PRIu64 " are kept in the spool, for the next push to %s\n",
			c.kept, p->how->target->url);
	say_lost(c.refused, "the receiver refused them");
	say_lost(c.too_old, "they had waited too long (-spool-age)");
	say_lost(c.no_room, "too many were waiting (-spool-size)");
	say_lost(c.unsent, "they could neither be sent nor kept");
	if (ended)
		fprintf(stderr,
			"cprof push: %zu last window%s lost: the process was killed "
			"or could not send it, or its mode was stopped\n",
			ended, ended == 1 ? " was" : "s were");
	return c.refused || c.too_old || c.no_room || c.unsent ? CT_FAILED : CT_OK;
}

void ct_push_loop(struct ct_push *p, bool (*look)(struct ct_push *p, void *arg), void *arg)
{
	double now = ct_now(), every = p->how->follow->every;
	double next = now + every, next_look = now + LOOK_SECONDS;

	for (;;) {
		double first = next_look < next ? next_look : next;

		if (ct_push_follow_wait(p->follow, p->end, first - ct_now()))
			break;
		now = ct_now();
		if (now >= next_look) {
			next_look = now + LOOK_SECONDS;
			if (!look(p, arg))
				return;
		}
		if (now < next)
			continue;
		ct_push_follow_take(p->follow);
		/* Windows begin at fixed times, so a late window doesn't delay the next one. */
		next += every;
		if (next < ct_now())
			next = ct_now() + every;
	}
	ct_push_follow_take(p->follow);
}

static bool look_for_all(struct ct_push *p, void *arg)
{
	(void)arg;
	ct_push_follow_all(p->follow, false, NULL, NULL);
	return true;
}

static bool look_for_any(struct ct_push *p, void *arg)
{
	(void)arg;
	return ct_push_follow_count(p->follow) > 0;
}

int ct_push_processes(const struct ct_push_how *how, const int *pids, size_t count)
{
	int status = CT_OK, ended;
	struct ct_push p;

	if (ct_push_begin(&p, how, true))
		return CT_FAILED;
	for (size_t i = 0; i < count; i++) {
		char *why;

		if (!ct_push_follow_add(p.follow, pids[i], false, true, &why))
			continue;
		fprintf(stderr, "cprof push: %s\n", why);
		free(why);
		status = CT_FAILED;
	}
	if (!count)
		look_for_all(&p, NULL);
	p.idle = count && !ct_push_follow_count(p.follow);
	if (!p.idle)
		ct_push_loop(&p, count ? look_for_any : look_for_all, NULL);
	ended = ct_push_end(&p);
	return status ? status : ended;
}

int ct_push_files_of_ended(const struct ct_push_how *how, char *const *files, size_t count)
{
	int status = CT_OK, ended;
	struct ct_push p;

	if (ct_push_begin(&p, how, true))
		return CT_FAILED;
	for (size_t i = 0; i < count; i++) {
		if (ct_push_follow_file(p.follow, files[i]))
			continue;
		fprintf(stderr, "cprof push: %s: nothing in it can be pushed\n", files[i]);
		status = CT_FAILED;
	}
	ended = ct_push_end(&p);
	return status ? status : ended;
}

/* Lists and removes files by age. */

/* Most names in memory at once; a directory may have a hundred thousand files. */
#define OLDEST 2048

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ct_push_file *)a)->name,
		      ((const struct ct_push_file *)b)->name);
}

static void sort_files(struct ct_push_files *f)
{
	if (f->count)
		qsort(f->items, f->count, sizeof(*f->items), by_name);
}

static void keep_oldest(struct ct_push_files *f, size_t most)
{
	sort_files(f);
	while (f->count > most)
		free(f->items[--f->count].name);
}

/* Only the MOST oldest ones are in the list. */
static struct ct_push_files list_files(const char *path, const char *suffix, size_t most)
{
	struct ct_push_files f = { .items = NULL };
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), s = strlen(suffix);

		if (n <= s || *e->d_name == '.' || strcmp(e->d_name + n - s, suffix) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		f.bytes += (uint64_t)st.st_size;
		*CT_PUSH(f.items, f.count, f.room) =
			(struct ct_push_file){ ct_memory_strdup(e->d_name), (uint64_t)st.st_size };
		if (f.count / 2 >= most)
			keep_oldest(&f, most);
	}
	if (d)
		closedir(d);
	keep_oldest(&f, most);
	return f;
}

struct ct_push_files ct_push_files_list(const char *path, const char *suffix)
{
	return list_files(path, suffix, SIZE_MAX);
}

void ct_push_files_release(struct ct_push_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].name);
	free(f->items);
}

void ct_push_files_remove(const char *path, const char *name)
{
	char *whole = ct_memory_printf("%s/%s", path, name);

	unlink(whole);
	free(whole);
}

uint64_t ct_push_files_limit(const char *path, const char *suffix, uint64_t limit)
{
	struct ct_push_files f = list_files(path, suffix, OLDEST);
	uint64_t all = f.bytes;

	for (size_t i = 0; i < f.count && all > limit; i++) {
		ct_push_files_remove(path, f.items[i].name);
		all -= f.items[i].size;
	}
	ct_push_files_release(&f);
	return all;
}

/* The target of a push. */

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
