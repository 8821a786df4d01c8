/* SPDX-License-Identifier: BSD-3-Clause */
/* HTTP requests, the meaning of their answers, and directories as targets; see push.h. */
#include "push/push.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cp-build.h"

#define CONNECT_SECONDS 10L
#define TOTAL_SECONDS 60L
#define ANSWER_MAX 4096
#define SECRET_MAX 8192
/* A receiver that asks for more gets its next request after this time. */
#define AFTER_MAX 3600.0

struct ct_push_sender {
	const struct ct_push_target *target;
	const struct ct_push_credentials *how;
	uint64_t limit;
	const struct ct_curl *curl;
	void *handle;
	_Atomic double until;
};

struct ct_push_sender *ct_push_send_open(const struct ct_push_target *target,
					 const struct ct_push_credentials *how, uint64_t limit,
					 char **why)
{
	struct ct_push_sender *s = ct_memory_alloc(sizeof(*s));
	const char *missing = "libcurl can't be used";

	s->target = target;
	s->how = how;
	s->limit = limit;
	atomic_store(&s->until, 1e300);
	if (target->kind == CT_PUSH_DIRECTORY)
		return s;
	s->curl = ct_fetch_curl(&missing);
	if (s->curl)
		s->handle = s->curl->easy_init();
	if (s->handle)
		return s;
	*why = ct_memory_strdup(missing);
	free(s);
	return NULL;
}

void ct_push_send_close(struct ct_push_sender *s)
{
	if (s->handle)
		s->curl->easy_cleanup(s->handle);
	free(s);
}

void ct_push_send_until(struct ct_push_sender *s, double seconds)
{
	atomic_store(&s->until, ct_now() + seconds);
}

/* ---- credentials ---- */

/* Reads the first line of PATH. Returns NULL if that fails, or it is empty. */
static char *first_line(const char *path)
{
	char line[SECRET_MAX] = "";
	FILE *f = fopen(path, "re");

	if (f && !fgets(line, sizeof(line), f))
		*line = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	return *line ? ct_memory_strdup(line) : NULL;
}

/* Returns the secret of FILE, or of the variable NAME; NULL: there is none. Sets *MISSING if a file
 * was named that can't be read. */
static char *secret(const char *file, const char *name, const char **missing)
{
	char *variable = ct_memory_printf("%s_FILE", name), *text;
	const char *value = getenv(name);

	if (!file)
		file = getenv(variable);
	free(variable);
	if (!file || !*file)
		return value && *value && !strpbrk(value, "\r\n") ? ct_memory_strdup(value) : NULL;
	text = first_line(file);
	if (!text)
		*missing = file;
	return text;
}

static void *add_header(const struct ct_curl *curl, void *list, const char *fmt, const char *value)
{
	size_t size = strlen(fmt) + strlen(value) + 1;
	char *line = ct_memory_alloc(size);

	snprintf(line, size, "%s%s", fmt, value);
	list = curl->slist_append(list, line);
	free(line);
	return list;
}

/* Returns the headers of requests, or NULL with *MISSING. */
static void *credentials(const struct ct_push_sender *s, void *list, const char **missing)
{
	char *user = secret(s->how->user_file, "CPROF_PUSH_USER", missing);
	char *token = secret(s->how->token_file, "CPROF_PUSH_TOKEN", missing);
	char *tenant = secret(s->how->tenant_file, "CPROF_PUSH_TENANT", missing);

	if (token)
		list = add_header(s->curl, list, "Authorization: Bearer ", token);
	else if (user)
		s->curl->easy_setopt(s->handle, CT_CURL_USERPWD, user); /* copied */
	if (tenant)
		list = add_header(s->curl, list, "X-Scope-OrgID: ", tenant);
	free(user);
	free(token);
	free(tenant);
	return list;
}

/* ---- a request ---- */

struct answer {
	char text[ANSWER_MAX];
	size_t size;
	double after;
};

static size_t take_body(char *data, size_t one, size_t n, void *to)
{
	struct answer *a = to;
	size_t room = sizeof(a->text) - 1 - a->size, some = n < room ? n : room;

	(void)one;
	memcpy(a->text + a->size, data, some);
	a->size += some;
	return n;
}

/* Returns the seconds of a Retry-After, which are a number or a date. */
static double seconds_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);
	struct tm tm = { 0 };

	if (end == text && strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		n = difftime(timegm(&tm), time(NULL));
	return n > AFTER_MAX ? AFTER_MAX : n > 0 ? n : 0;
}

static size_t take_header(char *data, size_t one, size_t n, void *to)
{
	static const char name[] = "retry-after:";
	struct answer *a = to;
	char value[64];

	(void)one;
	if (n < sizeof(name) || strncasecmp(data, name, sizeof(name) - 1))
		return n;
	snprintf(value, sizeof(value), "%.*s", (int)(n - (sizeof(name) - 1)),
		 data + sizeof(name) - 1);
	a->after = seconds_of(value + strspn(value, " \t"));
	return n;
}

static int is_over(void *s, long long a, long long b, long long c, long long d)
{
	(void)a, (void)b, (void)c, (void)d;
	return ct_now() > atomic_load(&((struct ct_push_sender *)s)->until);
}

static int post(struct ct_push_sender *s, const struct ct_push_request *r, void *headers,
		struct answer *a, char *why)
{
	const struct ct_curl *curl = s->curl;
	void *c = s->handle;

	if (!ct_fetch_allow_http(curl, c))
		return -1;
	curl->easy_setopt(c, CT_CURL_URL, r->url);
	curl->easy_setopt(c, CT_CURL_NOSIGNAL, 1L);
	curl->easy_setopt(c, CT_CURL_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl->easy_setopt(c, CT_CURL_TIMEOUT, TOTAL_SECONDS);
	curl->easy_setopt(c, CT_CURL_USERAGENT, "cprof/" PACKAGE_VERSION);
	curl->easy_setopt(c, CT_CURL_HTTPHEADER, headers);
	curl->easy_setopt(c, CT_CURL_POSTFIELDSIZE, (long)r->size);
	curl->easy_setopt(c, CT_CURL_POSTFIELDS, r->body);
	curl->easy_setopt(c, CT_CURL_WRITEFUNCTION, take_body);
	curl->easy_setopt(c, CT_CURL_WRITEDATA, a);
	curl->easy_setopt(c, CT_CURL_HEADERFUNCTION, take_header);
	curl->easy_setopt(c, CT_CURL_HEADERDATA, a);
	curl->easy_setopt(c, CT_CURL_ERRORBUFFER, why);
	curl->easy_setopt(c, CT_CURL_NOPROGRESS, 0L);
	curl->easy_setopt(c, CT_CURL_XFERINFOFUNCTION, is_over);
	curl->easy_setopt(c, CT_CURL_XFERINFODATA, s);
	if (s->how->ca_file)
		curl->easy_setopt(c, CT_CURL_CAINFO, s->how->ca_file);
	return curl->easy_perform(c);
}

/* ---- what an answer means ---- */

/* Pyroscope refuses a profile that is over its limits with 400. */
static bool is_about_size(const struct answer *a)
{
	return strcasestr(a->text, "exceed") || strcasestr(a->text, "too large") ||
	       strcasestr(a->text, "larger than");
}

static enum ct_push_outcome meaning(long status, const struct answer *a)
{
	switch (status) {
	case 400: return is_about_size(a) ? CT_PUSH_TOO_BIG : CT_PUSH_REFUSED;
	case 401:
	case 403:
	case 404:
	case 407: return CT_PUSH_HELD;
	case 408:
	case 425:
	case 429: return CT_PUSH_LATER;
	case 413: return CT_PUSH_TOO_BIG;
	/* Pyroscope's /ingest also answers so while its own parts start. */
	case 422: return strcasestr(a->text, "unavailable") ? CT_PUSH_LATER : CT_PUSH_REFUSED;
	default: break;
	}
	if (status >= 200 && status < 300)
		return CT_PUSH_SENT;
	if (status >= 300 && status < 400)
		return CT_PUSH_HELD;
	return status >= 400 && status < 500 ? CT_PUSH_REFUSED : CT_PUSH_LATER;
}

static const char *advice(long status)
{
	switch (status) {
	case 401:
	case 403: return "; give -user-file or -token-file (or CPROF_PUSH_USER, CPROF_PUSH_TOKEN)";
	case 404:
	case 405:
	case 415: return "; is this the right receiver, and -to the right protocol?";
	default: return status >= 300 && status < 400 ? "; push to the address that it names" : "";
	}
}

static void interpret(struct ct_push_reply *reply, long status, const struct answer *a)
{
	int n = 0;

	reply->outcome = meaning(status, a);
	reply->after = a->after;
	/* Only one line, without bytes that could control a terminal. */
	for (const char *s = a->text; n < 200 && *s; s++, n++)
		if ((unsigned char)*s < ' ' || *s == 127)
			break;
	snprintf(reply->text, sizeof(reply->text), "HTTP %ld%s%.*s%s", status, n ? ": " : "", n,
		 a->text, advice(status));
}

static void send_request(struct ct_push_sender *s, const struct ct_push_request *r,
			 struct ct_push_reply *reply)
{
	char why[CT_CURL_ERROR_SIZE] = "";
	struct answer a = { .size = 0 };
	const char *missing = NULL;
	void *headers;
	long status = 0;
	int error;

	s->curl->easy_reset(s->handle);
	headers = credentials(s, NULL, &missing);
	if (missing) {
		*reply = (struct ct_push_reply){ .outcome = CT_PUSH_HELD };
		snprintf(reply->text, sizeof(reply->text), "%s can't be read, or is empty",
			 missing);
		s->curl->slist_free_all(headers);
		return;
	}
	headers = add_header(s->curl, headers, "Content-Type: ", r->type);
	/* Without this, libcurl waits a second for receivers that don't know "100 Continue". */
	headers = add_header(s->curl, headers, "Expect:", "");
	if (r->header)
		headers = add_header(s->curl, headers, r->header, "");
	error = post(s, r, headers, &a, why);
	s->curl->slist_free_all(headers);
	if (!error)
		s->curl->easy_getinfo(s->handle, CT_CURL_RESPONSE_CODE, &status);
	if (!error && status) {
		interpret(reply, status, &a);
		return;
	}
	*reply = (struct ct_push_reply){ .outcome = CT_PUSH_LATER };
	snprintf(reply->text, sizeof(reply->text), "%s",
		 *why	 ? why
		 : error ? s->curl->easy_strerror(error)
			 : "no answer");
}

/* ---- directories: a file for each window, and the oldest ones removed ---- */

#define SUFFIX ".window.pb"
/* Number of files that are written between two reads of the directory. */
#define READ_EACH 1000

static char *safe(char *name)
{
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_+", *c))
			*c = '_';
	return name;
}

/* Returns the name of ITEM's file. The time comes first, so that names are sorted by age. */
static char *name_of(const struct ct_push_item *item)
{
	char *service = ct_push_item_label(item, "service_name"), time[32], *name;
	char *pid = ct_push_item_label(item, "pid");
	time_t seconds = (time_t)(item->from_ns / 1000000000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(time, sizeof(time), "%Y%m%dT%H%M%S", &tm);
	name = ct_memory_printf(
		"%s.%03dZ.%.100s.%.20s.%s" SUFFIX, time, (int)(item->from_ns / 1000000 % 1000),
		service ? safe(service) : "unknown", pid ? safe(pid) : "0", item->series);
	free(service);
	free(pid);
	return name;
}

/* The directory is read as a whole at the first file, when it may be full, and now and then,
 * because others may write there. In between its size is counted: reading ten thousand names for
 * each file would cost more than all the rest. */
static void bound(const char *path, uint64_t added, uint64_t limit)
{
	static uint64_t bytes;
	static unsigned unread;

	bytes += added;
	if (unread && bytes <= limit) {
		unread--;
		return;
	}
	/* Makes room for some more files, so that a full directory isn't read for each file. */
	bytes = ct_push_files_limit(path, SUFFIX, limit - limit / 16);
	unread = READ_EACH;
}

/* Writes SERVICE.PID.SERIES.TIME.pb to PATH, which is created, and removes the oldest such files if
 * all are bigger than LIMIT bytes. Returns 0 or a negative errno. */
static int push_directory_add(const char *path, const struct ct_push_item *item, uint64_t limit)
{
	char *name, *whole;
	struct ct_target t;
	int error;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	name = name_of(item);
	whole = ct_memory_printf("%s/%s", path, name);
	error = ct_target_open(&t, whole);
	if (!error) {
		errno = 0;
		error = fwrite(item->data, 1, item->size, t.to) == item->size ? 0
			: errno						      ? -errno
									      : -EIO;
		error = ct_target_close(&t, error);
	}
	if (!error)
		bound(path, item->size, limit);
	free(whole);
	free(name);
	return error;
}

static void to_directory(struct ct_push_sender *s, const struct ct_push_item *item,
			 struct ct_push_reply *reply)
{
	int error = push_directory_add(s->target->url, item, s->limit);

	*reply = (struct ct_push_reply){ .outcome = error ? CT_PUSH_LATER : CT_PUSH_SENT };
	snprintf(reply->text, sizeof(reply->text), "%s", strerror(-error));
}

void ct_push_send(struct ct_push_sender *s, struct ct_push_item *const *items, size_t count,
		  struct ct_push_reply *reply)
{
	struct ct_push_request r;

	if (s->target->kind == CT_PUSH_DIRECTORY) {
		to_directory(s, items[0], reply);
		return;
	}
	*reply =
		(struct ct_push_reply){ .outcome = CT_PUSH_REFUSED, .text = "it can't be encoded" };
	if (!ct_push_request_make(&r, s->target, items, count))
		send_request(s, &r, reply);
	ct_push_request_release(&r);
}
