/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libcurl; see core.h. */
#include "core/core.h"

#include <stddef.h>

#include "cp-build.h"

#ifdef CT_WITHOUT_LIBCURL

const struct ct_curl *ct_curl_load(const char **why)
{
	*why = "this cprof was built without libcurl and knows no URLs";
	return NULL;
}

#else

#define GLOBAL_DEFAULT 3L

static struct ct_curl curl;

/* Debian has the same interface in a second library, with another TLS library. */
static bool load(void)
{
	static const struct ct_library_function functions[] = {
		{ "curl_global_init", &curl.global_init },
		{ "curl_easy_init", &curl.easy_init },
		{ "curl_easy_setopt", &curl.easy_setopt },
		{ "curl_easy_perform", &curl.easy_perform },
		{ "curl_easy_getinfo", &curl.easy_getinfo },
		{ "curl_easy_strerror", &curl.easy_strerror },
		{ "curl_easy_reset", &curl.easy_reset },
		{ "curl_easy_cleanup", &curl.easy_cleanup },
		{ "curl_slist_append", &curl.slist_append },
		{ "curl_slist_free_all", &curl.slist_free_all },
	};
	const size_t n = sizeof(functions) / sizeof(*functions);

	return ct_library_load("libcurl.so.4", functions, n) ||
	       ct_library_load("libcurl-gnutls.so.4", functions, n);
}

const struct ct_curl *ct_curl_load(const char **why)
{
	static enum { NEW, READY, MISSING, UNUSABLE } state;

	if (state == NEW)
		state = !load() ? MISSING : curl.global_init(GLOBAL_DEFAULT) ? UNUSABLE : READY;
	if (state == READY)
		return &curl;
	*why = state == MISSING ? "a URL needs libcurl.so.4, which can't be loaded: install "
				  "libcurl4 (Debian) or libcurl (Fedora)"
				: "libcurl can't be used";
	return NULL;
}

#endif

#define PROTOCOL_HTTP 1L
#define PROTOCOL_HTTPS 2L

/* Before libcurl 7.85 the protocols are set by number. */
bool ct_curl_allow_http(const struct ct_curl *from, void *c)
{
	if (!from->easy_setopt(c, CT_CURL_PROTOCOLS_STR, "http,https") &&
	    !from->easy_setopt(c, CT_CURL_REDIR_PROTOCOLS_STR, "http,https"))
		return true;
	return !from->easy_setopt(c, CT_CURL_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS) &&
	       !from->easy_setopt(c, CT_CURL_REDIR_PROTOCOLS, PROTOCOL_HTTP | PROTOCOL_HTTPS);
}
