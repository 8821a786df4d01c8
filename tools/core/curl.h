/* SPDX-License-Identifier: BSD-3-Clause */
/* libcurl, loaded when the first URL is used, because it brings some 30 libraries with it and most
 * calls of cprof read files. For fetch.c and push/push_http.c.
 *
 * The numbers are those of libcurl.so.4's interface, which don't change. The header at build time
 * may belong to another version than the library that is found at run time.
 */
#ifndef CT_CURL_H
#define CT_CURL_H

#include <stdbool.h>

enum ct_curl_option {
	CT_CURL_CAINFO = 10065,
	CT_CURL_CONNECTTIMEOUT = 78,
	CT_CURL_ERRORBUFFER = 10010,
	CT_CURL_FAILONERROR = 45,
	CT_CURL_FOLLOWLOCATION = 52,
	CT_CURL_HEADERDATA = 10029,
	CT_CURL_HEADERFUNCTION = 20079,
	CT_CURL_HTTPHEADER = 10023,
	CT_CURL_MAXREDIRS = 68,
	CT_CURL_NOPROGRESS = 43,
	CT_CURL_NOSIGNAL = 99,
	CT_CURL_POSTFIELDS = 10015,
	CT_CURL_POSTFIELDSIZE = 60,
	CT_CURL_PROTOCOLS = 181,
	CT_CURL_PROTOCOLS_STR = 10318, /* since 7.85 */
	CT_CURL_REDIR_PROTOCOLS = 182,
	CT_CURL_REDIR_PROTOCOLS_STR = 10319,
	CT_CURL_TIMEOUT = 13,
	CT_CURL_TIMEOUT_MS = 155,
	CT_CURL_URL = 10002,
	CT_CURL_USERAGENT = 10018,
	CT_CURL_WRITEDATA = 10001,
	CT_CURL_WRITEFUNCTION = 20011,
	CT_CURL_XFERINFODATA = 10057,
	CT_CURL_XFERINFOFUNCTION = 20219
};

#define CT_CURL_RESPONSE_CODE 0x200002
#define CT_CURL_ERROR_SIZE 256

struct ct_curl {
	int (*global_init)(long);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *, enum ct_curl_option, ...);
	int (*easy_perform)(void *);
	int (*easy_getinfo)(void *, int, ...);
	const char *(*easy_strerror)(int);
	void (*easy_reset)(void *);
	void (*easy_cleanup)(void *);
	void *(*slist_append)(void *, const char *);
	void (*slist_free_all)(void *);
};

/* Returns libcurl's functions, or NULL with *WHY, a text that says what to do. The first call is
 * made by one thread alone. */
const struct ct_curl *ct_curl_load(const char **why);
/* Allows handle C only http and https. Returns false if that can't be had. */
bool ct_curl_allow_http(const struct ct_curl *curl, void *c);

#endif
