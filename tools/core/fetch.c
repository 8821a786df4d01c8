/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the body of a URL; called by input.c. libcurl is loaded when the first URL is read,
 * because it brings some 30 libraries with it, and most calls of cprof read files. Redirects stay
 * within http and https.
 */
#include "core/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cp-build.h"
#include "core/memory.h"

#ifdef CT_WITHOUT_LIBCURL

int ct_fetch(const char *url, void **data, size_t *size, struct ct_fault *fault)
{
	(void)url, (void)data, (void)size;
	ct_input_fault_say(fault, 0, "this cprof was built without libcurl and reads files only");
	return -ENOSYS;
}

#else
#include <dlfcn.h>
#include <stdbool.h>

#define CONNECT_SECONDS 10L
/* A request for a profile of 30 s (?seconds=30) gets no data for 30 s. An hour is enough for every
 * request. */
#define TOTAL_SECONDS 3600L
#define BODY_MAX ((size_t)1 << 30)

/* libcurl.so.4's interface, whose numbers don't change. The header at build time may belong to
 * another version than the library that is found at run time. */
enum option {
	OPTION_CONNECTTIMEOUT = 78,
	OPTION_ERRORBUFFER = 10010,
	OPTION_FAILONERROR = 45,
	OPTION_FOLLOWLOCATION = 52,
	OPTION_MAXREDIRS = 68,
	OPTION_NOSIGNAL = 99,
	OPTION_PROTOCOLS = 181,
	OPTION_PROTOCOLS_STR = 10318, /* since 7.85 */
	OPTION_REDIR_PROTOCOLS = 182,
	OPTION_REDIR_PROTOCOLS_STR = 10319,
	OPTION_TIMEOUT = 13,
	OPTION_URL = 10002,
	OPTION_USERAGENT = 10018,
	OPTION_WRITEDATA = 10001,
	OPTION_WRITEFUNCTION = 20011
};
#define GLOBAL_DEFAULT 3L
#define PROTOCOL_HTTP 1L
#define PROTOCOL_HTTPS 2L
#define ERROR_SIZE 256

static struct {
	int (*global_init)(long);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *, enum option, ...);
	int (*easy_perform)(void *);
	const char *(*easy_strerror)(int);
	void (*easy_cleanup)(void *);
} curl;

struct body {
	char *data;
	size_t size, room;
	int too_big;
};

static bool load_from(void *library)
{
	curl.global_init = (int (*)(long))dlsym(library, "curl_global_init");
	curl.easy_init = (void *(*)(void))dlsym(library, "curl_easy_init");
	curl.easy_setopt = (int (*)(void *, enum option, ...))dlsym(library, "curl_easy_setopt");
	curl.easy_perform = (int (*)(void *))dlsym(library, "curl_easy_perform");
	curl.easy_strerror = (const char *(*)(int))dlsym(library, "curl_easy_strerror");
	curl.easy_cleanup = (void (*)(void *))dlsym(library, "curl_easy_cleanup");
	return curl.global_init && curl.easy_init && curl.easy_setopt && curl.easy_perform &&
	       curl.easy_strerror && curl.easy_cleanup;
}

/* Debian has the same interface in a second library, with another TLS library. */
static bool load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

	for (size_t i = 0; !curl.easy_cleanup && i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		if (library && load_from(library))
			return true;
	}
	return curl.easy_cleanup != NULL;
}

static size_t keep(char *data, size_t one, size_t n, void *to)
{
	struct body *b = to;

	(void)one; /* is 1, as libcurl promises */
	if (n > BODY_MAX - b->size) {
		b->too_big = 1;
		return 0;
	}
	if (n > b->room - b->size)
		b->data = ct_memory_grow(b->data, &b->room, b->size + n, 1);
	if (n)
		memcpy(b->data + b->size, data, n);
	b->size += n;
	return n;
}

/* Allow only http and https. Before libcurl 7.85 the protocols are set by number. */
static bool allow_http(void *c)
{
	if (!curl.easy_setopt(c, OPTION_PROTOCOLS_STR, "http,https") &&
	    !curl.easy_setopt(c, OPTION_REDIR_PROTOCOLS_STR, "http,https"))
		return true;
	return !curl.easy_setopt(c, OPTION_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS) &&
	       !curl.easy_setopt(c, OPTION_REDIR_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS);
}

static int perform(void *c, const char *url, struct body *body, char *why)
{
	curl.easy_setopt(c, OPTION_URL, url);
	curl.easy_setopt(c, OPTION_FOLLOWLOCATION, 1L);
	curl.easy_setopt(c, OPTION_MAXREDIRS, 5L);
	curl.easy_setopt(c, OPTION_FAILONERROR, 1L);
	curl.easy_setopt(c, OPTION_NOSIGNAL, 1L);
	curl.easy_setopt(c, OPTION_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl.easy_setopt(c, OPTION_TIMEOUT, TOTAL_SECONDS);
	curl.easy_setopt(c, OPTION_USERAGENT, "cprof/" PACKAGE_VERSION);
	curl.easy_setopt(c, OPTION_WRITEFUNCTION, keep);
	curl.easy_setopt(c, OPTION_WRITEDATA, body);
	curl.easy_setopt(c, OPTION_ERRORBUFFER, why);
	return curl.easy_perform(c);
}

int ct_fetch(const char *url, void **data, size_t *size, struct ct_fault *fault)
{
	char why[ERROR_SIZE] = "";
	struct body body = { 0 };
	void *c;
	int r;

	if (!load()) {
		ct_input_fault_say(fault, 0,
				   "a URL needs libcurl.so.4, which can't be loaded: install "
				   "libcurl4 (Debian), libcurl (Fedora), or fetch the file first");
		return -ENOSYS;
	}
	if (curl.global_init(GLOBAL_DEFAULT) || !(c = curl.easy_init()) || !allow_http(c)) {
		ct_input_fault_say(fault, 0, "libcurl can't be used");
		return -EIO;
	}
	r = perform(c, url, &body, why);
	curl.easy_cleanup(c);
	if (r) {
		free(body.data);
		ct_input_fault_say(fault, 0, "%s",
				   body.too_big ? "the answer is bigger than 1 GiB"
				   : *why	? why
						: curl.easy_strerror(r));
		return -EIO;
	}
	*data = body.data;
	*size = body.size;
	return 0;
}

#endif
