/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles that wait to be sent, and a thread that sends them. It splits what is too big, tries
 * again what may still be accepted, and counts what is lost. Called by push.c and push_follow.c.
 */
#ifndef CT_PUSH_QUEUE_H
#define CT_PUSH_QUEUE_H

#include "push/push_item.h"
#include "push/push_send.h"
#include "push/push_spool.h"

struct ct_push_queue_how {
	const struct ct_push_target *target;
	const struct ct_push_credentials *credentials;
	const char *spool;   /* directory; NULL: the default; "none": profiles are kept in memory */
	uint64_t size;	     /* most bytes kept */
	double seconds;	     /* greatest age */
	bool verbose, quiet; /* QUIET: only losses are said, at the end */
};

struct ct_push_counts {
	uint64_t sent, sent_bytes; /* profiles; bytes of their packed form */
	uint64_t kept;		   /* left in the spool for the next push */
	uint64_t refused, too_old, no_room, unsent;
};

struct ct_push_queue;

/* Returns NULL with *WHY, a message that the caller frees. HOW must live on. */
struct ct_push_queue *ct_push_queue_open(const struct ct_push_queue_how *how, char **why);
/* Takes over ITEM; NULL is fine. */
void ct_push_queue_add(struct ct_push_queue *q, struct ct_push_item *item);
/* Sends what there is, for SECONDS at most, and ends. What is left goes to the spool. */
void ct_push_queue_close(struct ct_push_queue *q, double seconds, struct ct_push_counts *counts);

#endif
