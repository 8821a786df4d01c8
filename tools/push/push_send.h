/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends profiles, once: over HTTP by libcurl, or to a directory. What is to be done about a failure
 * is decided by push_queue.c, which calls this from its thread.
 */
#ifndef CT_PUSH_SEND_H
#define CT_PUSH_SEND_H

#include "push/push_item.h"
#include "push/push_target.h"

struct ct_push_credentials {
	/* Files with one line: "user:password", a bearer token, a tenant's name; the certificates
	 * that a receiver's is checked with. NULL: the variables CPROF_PUSH_USER, CPROF_PUSH_TOKEN
	 * and CPROF_PUSH_TENANT, each also as NAME_FILE. Files are read anew for each request. */
	const char *user_file, *token_file, *tenant_file, *ca_file;
};

enum ct_push_outcome {
	CT_PUSH_SENT,
	CT_PUSH_LATER,	 /* no answer, or one that asks for patience */
	CT_PUSH_HELD,	 /* somebody must change something first: a credential, an address */
	CT_PUSH_TOO_BIG, /* fewer samples may be accepted */
	CT_PUSH_REFUSED, /* these profiles will never be accepted */
};

struct ct_push_reply {
	enum ct_push_outcome outcome;
	double after;	/* seconds that the receiver asks to wait; 0: it doesn't say */
	char text[400]; /* what went wrong, for the user */
};

struct ct_push_sender;

/* Returns NULL with *WHY, a message that the caller frees. TARGET and HOW must live on. LIMIT:
 * bytes that a directory may hold of profiles. */
struct ct_push_sender *ct_push_send_open(const struct ct_push_target *target,
					 const struct ct_push_credentials *how, uint64_t limit,
					 char **why);
void ct_push_send(struct ct_push_sender *s, struct ct_push_item *const *items, size_t count,
		  struct ct_push_reply *reply);
/* A request that is under way is given up SECONDS from now. From any thread. */
void ct_push_send_until(struct ct_push_sender *s, double seconds);
void ct_push_send_close(struct ct_push_sender *s);

/* Seconds of the monotonic clock. */
double ct_push_send_now(void);

#endif
