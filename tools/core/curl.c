/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libcurl; see curl.h. */
#include "core/curl.h"

#include <dlfcn.h>
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

static bool load_from(void *library)
{
	static const struct {
		const char *name;
		void **to;
	} names[] = {
		{ "curl_global_init", (void **)&curl.global_init },
		{ "curl_easy_init", (void **)&curl.easy_init },
		{ "curl_easy_setopt", (void **)&curl.easy_setopt },
		{ "curl_easy_perform", (void **)&curl.easy_perform },
		{ "curl_easy_getinfo", (void **)&curl.easy_getinfo },
		{ "curl_easy_strerror", (void **)&curl.easy_strerror },
		{ "curl_easy_reset", (void **)&curl.easy_reset },
		{ "curl_easy_cleanup", (void **)&curl.easy_cleanup },
		{ "curl_slist_append", (void **)&curl.slist_append },
		{ "curl_slist_free_all", (void **)&curl.slist_free_all },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		*names[i].to = dlsym(library, names[i].name);
		if (!*names[i].to)
			return false;
	}
	return true;
}

/* Debian has the same interface in a second library, with another TLS library. */
static bool load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		if (library && load_from(library))
			return true;
	}
	return false;
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
