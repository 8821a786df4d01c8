/* SPDX-License-Identifier: BSD-3-Clause */
/* Where profiles are pushed to: a receiver and the protocol that it speaks, or a directory.
 */
#ifndef CT_PUSH_TARGET_H
#define CT_PUSH_TARGET_H

#include <stdbool.h>
#include <stddef.h>

enum ct_push_kind {
	CT_PUSH_PYROSCOPE, /* push.v1.PusherService/Push, by Connect */
	CT_PUSH_INGEST,	   /* Pyroscope's older /ingest */
	CT_PUSH_PARCA,	   /* WriteRaw, by HTTP */
	CT_PUSH_OTLP,	   /* OTLP over HTTP */
	CT_PUSH_DATADOG,   /* the Datadog agent's intake */
	CT_PUSH_DIRECTORY, /* a file for each window */
};

struct ct_push_target {
	enum ct_push_kind kind;
	char *url;			  /* of requests; of a directory its path */
	bool is_clear_text;		  /* http, and not to this machine */
	size_t samples_max, unpacked_max; /* of one profile; 0: no limit is known */
	unsigned batch;			  /* most profiles in one request */
	long depth_max;			  /* frames of a stack; 0: no limit is known */
};

/* Reads TEXT ("http://host:4040", "dir:/path") and TO, the protocol's name, or NULL: what the path
 * or the port of the URL says, else Pyroscope. Returns 0; or -1 with *WHY, a message that the
 * caller frees. */
int ct_push_target_read(struct ct_push_target *t, const char *text, const char *to, char **why);
void ct_push_target_release(struct ct_push_target *t);
/* The protocol's name, as -to has it. */
const char *ct_push_target_protocol(const struct ct_push_target *t);

#endif
