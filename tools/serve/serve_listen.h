/* SPDX-License-Identifier: BSD-3-Clause */
/* The address at which `cprof serve` listens, and who may name it. */
#ifndef CT_SERVE_LISTEN_H
#define CT_SERVE_LISTEN_H

#include <stdbool.h>

struct ct_serve_listen {
	int fd;
	bool loopback;	   /* only this machine reaches it */
	char host[256];	   /* as the user gave it, without port and brackets */
	char address[280]; /* "127.0.0.1:6060", "[::1]:6060" */
};

/* Listens at WHERE, "HOST:PORT", ":PORT" (every address), "PORT" or "HOST". Port 0: the kernel
 * chooses one. Returns 0, or -1 with *WHY, which the caller frees. */
int ct_serve_listen_open(struct ct_serve_listen *l, const char *where, char **why);

/* Splits WHERE into host and port, the defaults being 127.0.0.1 and 6060. Returns false if it is no
 * address. */
bool ct_serve_listen_split(const char *where, char host[256], char port[8]);

/* May a request with this Host header be answered? A web page of anybody may have its name resolve
 * to 127.0.0.1, and so read what is served there; its requests carry that name. NAME is the host
 * that the user gave. */
bool ct_serve_listen_knows(const char *header, const char *name);

#endif
