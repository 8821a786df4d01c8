/* SPDX-License-Identifier: BSD-3-Clause */
/* libmicrohttpd, as far as it is used here. It is loaded when `cprof serve` runs, because no other
 * verb needs it. Called by serve_http.c.
 *
 * The declarations are those of libmicrohttpd.so.12, whose numbers and signatures don't change. The
 * header at build time may belong to another version than the library that is found at run time.
 */
#ifndef CT_SERVE_MHD_H
#define CT_SERVE_MHD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

enum { CT_MHD_NO, CT_MHD_YES };

enum {
	CT_MHD_USE_EPOLL = 512,
	CT_MHD_ALLOW_SUSPEND_RESUME = 9216,
	CT_MHD_OPTION_END = 0,
	CT_MHD_OPTION_CONNECTION_LIMIT = 2,
	CT_MHD_OPTION_CONNECTION_TIMEOUT = 3,
	CT_MHD_OPTION_NOTIFY_COMPLETED = 4,
	CT_MHD_OPTION_URI_LOG_CALLBACK = 7,
	CT_MHD_OPTION_LISTEN_SOCKET = 12,
	CT_MHD_COMPLETED_OK = 0,
	CT_MHD_HEADER = 1,
	CT_MHD_ARGUMENT = 8,
	CT_MHD_MUST_COPY = 2,
	CT_MHD_DAEMON_EPOLL_FD = 3,
	CT_MHD_CONNECTION_CLIENT_ADDRESS = 2,
	CT_MHD_CONNECTION_FD = 6
};

/* Both are the first member of a union of the library. */
union ct_mhd_info {
	int fd;
	const struct sockaddr *address;
};

typedef int ct_mhd_handler(void *arg, struct MHD_Connection *c, const char *url, const char *method,
			   const char *version, const char *data, size_t *size, void **state);
/* Returns the first STATE of the request for URI, which is as the client sent it. */
typedef void *ct_mhd_begun(void *arg, const char *uri, struct MHD_Connection *c);
typedef void ct_mhd_completed(void *arg, struct MHD_Connection *c, void **state, int how);

struct ct_mhd {
	struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, void *policy,
					   void *policy_arg, ct_mhd_handler *handler, void *arg,
					   ...);
	void (*stop_daemon)(struct MHD_Daemon *);
	int (*run)(struct MHD_Daemon *);
	int (*get_timeout)(struct MHD_Daemon *, unsigned long long *ms);
	const union ct_mhd_info *(*get_daemon_info)(struct MHD_Daemon *, int what, ...);
	const union ct_mhd_info *(*get_connection_info)(struct MHD_Connection *, int what, ...);
	const char *(*lookup_connection_value)(struct MHD_Connection *, int kind, const char *key);
	void (*suspend_connection)(struct MHD_Connection *);
	void (*resume_connection)(struct MHD_Connection *);
	struct MHD_Response *(*create_response_from_fd)(size_t size, int fd);
	struct MHD_Response *(*create_response_from_buffer)(size_t size, void *data, int mode);
	int (*add_response_header)(struct MHD_Response *, const char *name, const char *value);
	int (*queue_response)(struct MHD_Connection *, unsigned status, struct MHD_Response *);
	void (*destroy_response)(struct MHD_Response *);
};

/* Fills ct_mhd. Returns false if the library is not there. */
bool ct_serve_mhd_load(void);
extern struct ct_mhd ct_mhd;

#endif
