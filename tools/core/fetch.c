/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the body of a URL by libcurl (core.h); called by input.c. Redirects stay within http and
 * https.
 */
#include "core/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cp-build.h"

#define CONNECT_SECONDS 10L
/* A request for a profile of 30 s (?seconds=30) gets no data for 30 s. An hour is enough for every
 * request. */
#define TOTAL_SECONDS 3600L
#define BODY_MAX ((size_t)1 << 30)

struct body {
	char *data;
	size_t size, room;
	int too_big;
};

static size_t keep_body(char *data, size_t one, size_t n, void *to)
{
	struct body *b = to;

	(void)one; /* always 1, as libcurl promises */
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

static int perform(const struct ct_curl *curl, void *c, const char *url, struct body *body,
		   char *why)
{
	curl->easy_setopt(c, CT_CURL_URL, url);
	curl->easy_setopt(c, CT_CURL_FOLLOWLOCATION, 1L);
	curl->easy_setopt(c, CT_CURL_MAXREDIRS, 5L);
	curl->easy_setopt(c, CT_CURL_FAILONERROR, 1L);
	curl->easy_setopt(c, CT_CURL_NOSIGNAL, 1L);
	curl->easy_setopt(c, CT_CURL_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl->easy_setopt(c, CT_CURL_TIMEOUT, TOTAL_SECONDS);
	curl->easy_setopt(c, CT_CURL_USERAGENT, "cprof/" PACKAGE_VERSION);
	curl->easy_setopt(c, CT_CURL_WRITEFUNCTION, keep_body);
	curl->easy_setopt(c, CT_CURL_WRITEDATA, body);
	curl->easy_setopt(c, CT_CURL_ERRORBUFFER, why);
	return curl->easy_perform(c);
}

/* ---- libcurl ---- */

#ifdef CT_WITHOUT_LIBCURL

const struct ct_curl *ct_fetch_curl(const char **why)
{
	*why = "this cprof was built without libcurl and knows no URLs";
	return NULL;
}

#else

#define GLOBAL_DEFAULT 3L

static struct ct_curl loaded;

/* Loads libcurl, or Debian's second build of it, which uses another TLS library. */
static bool load_curl(void)
{
	static const struct ct_library_function functions[] = {
		{ "curl_global_init", &loaded.global_init },
		{ "curl_easy_init", &loaded.easy_init },
		{ "curl_easy_setopt", &loaded.easy_setopt },
		{ "curl_easy_perform", &loaded.easy_perform },
		{ "curl_easy_getinfo", &loaded.easy_getinfo },
		{ "curl_easy_strerror", &loaded.easy_strerror },
		{ "curl_easy_reset", &loaded.easy_reset },
		{ "curl_easy_cleanup", &loaded.easy_cleanup },
		{ "curl_slist_append", &loaded.slist_append },
		{ "curl_slist_free_all", &loaded.slist_free_all },
	};
	const size_t n = sizeof(functions) / sizeof(*functions);

	return ct_library_load("libcurl.so.4", functions, n) ||
	       ct_library_load("libcurl-gnutls.so.4", functions, n);
}

const struct ct_curl *ct_fetch_curl(const char **why)
{
	static enum { NEW, READY, MISSING, UNUSABLE } state;

	if (state == NEW)
		state = !load_curl()			     ? MISSING
			: loaded.global_init(GLOBAL_DEFAULT) ? UNUSABLE
							     : READY;
	if (state == READY)
		return &loaded;
	*why = state == MISSING ? "a URL needs libcurl.so.4, which can't be loaded: install "
				  "libcurl4 (Debian) or libcurl (Fedora)"
				: "libcurl can't be used";
	return NULL;
}

#endif

#define PROTOCOL_HTTP 1L
#define PROTOCOL_HTTPS 2L

/* Before libcurl 7.85 the protocols are set by number. */
bool ct_fetch_allow_http(const struct ct_curl *from, void *c)
{
	if (!from->easy_setopt(c, CT_CURL_PROTOCOLS_STR, "http,https") &&
	    !from->easy_setopt(c, CT_CURL_REDIR_PROTOCOLS_STR, "http,https"))
		return true;
	return !from->easy_setopt(c, CT_CURL_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS) &&
	       !from->easy_setopt(c, CT_CURL_REDIR_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS);
}

int ct_fetch(const char *url, void **data, size_t *size, struct ct_fault *fault)
{
	char why[CT_CURL_ERROR_SIZE] = "";
	const char *no_curl;
	const struct ct_curl *curl = ct_fetch_curl(&no_curl);
	struct body body = { 0 };
	void *c;
	int r;

	if (!curl) {
		ct_input_fault_say(fault, 0, "%s; or fetch the file first", no_curl);
		return -ENOSYS;
	}
	c = curl->easy_init();
	if (!c || !ct_fetch_allow_http(curl, c)) {
		ct_input_fault_say(fault, 0, "libcurl can't be used");
		return -EIO;
	}
	r = perform(curl, c, url, &body, why);
	curl->easy_cleanup(c);
	if (r) {
		free(body.data);
		ct_input_fault_say(fault, 0, "%s",
				   body.too_big ? "the answer is bigger than 1 GiB"
				   : *why	? why
						: curl->easy_strerror(r));
		return -EIO;
	}
	*data = body.data;
	*size = body.size;
	return 0;
}
