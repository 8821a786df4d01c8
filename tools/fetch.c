/* The body behind a URL; called by input.c. With libcurl where configure found it, else the
 * answer is that this build can't. Redirects stay within http and https.
 */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cp-build.h"
#include "memory.h"

#ifndef HAVE_LIBCURL

int ct_fetch(const char *url, void **data, size_t *size, struct ct_fault *fault)
{
	(void)url, (void)data, (void)size;
	ct_fault_say(fault, 0, "this cprof was built without libcurl and reads files only");
	return -ENOSYS;
}

#else
#include <curl/curl.h>

#define CONNECT_SECONDS 10L
/* A profile of 30 s (?seconds=30) says nothing for as long; an hour is nobody's wish. */
#define TOTAL_SECONDS 3600L
#define BODY_MAX ((size_t)1 << 30)

struct body {
	char *data;
	size_t size, room;
	int too_big;
};

static size_t keep(char *data, size_t one, size_t n, void *to)
{
	struct body *b = to;

	(void)one; /* is 1, as libcurl promises */
	if (n > BODY_MAX - b->size) {
		b->too_big = 1;
		return 0;
	}
	if (n > b->room - b->size)
		b->data = ct_grow(b->data, &b->room, b->size + n, 1);
	if (n)
		memcpy(b->data + b->size, data, n);
	b->size += n;
	return n;
}

static CURLcode perform(CURL *c, const char *url, struct body *body, char *why)
{
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(c, CURLOPT_MAXREDIRS, 5L);
	curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, TOTAL_SECONDS);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "cprof/" PACKAGE_VERSION);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
	return curl_easy_perform(c);
}

int ct_fetch(const char *url, void **data, size_t *size, struct ct_fault *fault)
{
	char why[CURL_ERROR_SIZE] = "";
	struct body body = { 0 };
	CURLcode r;
	CURL *c;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(c = curl_easy_init())) {
		ct_fault_say(fault, 0, "libcurl can't be used");
		return -EIO;
	}
	r = perform(c, url, &body, why);
	curl_easy_cleanup(c);
	if (r != CURLE_OK) {
		free(body.data);
		ct_fault_say(fault, 0, "%s",
			     body.too_big ? "the answer is bigger than 1 GiB"
			     : *why	  ? why
					  : curl_easy_strerror(r));
		return -EIO;
	}
	*data = body.data;
	*size = body.size;
	return 0;
}

#endif
