/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a request, as each receiver expects them. Called by push_send.c.
 */
#ifndef CT_PUSH_REQUEST_H
#define CT_PUSH_REQUEST_H

#include <stddef.h>

#include "push/push_item.h"
#include "push/push_target.h"

struct ct_push_request {
	char *url;
	char *type;	    /* Content-Type */
	const char *header; /* one more header; or NULL */
	char *body;
	size_t size;
};

/* Makes the request that sends COUNT items, at most the target's batch. Returns 0, or -1 if an item
 * can't be read. */
int ct_push_request_make(struct ct_push_request *r, const struct ct_push_target *t,
			 struct ct_push_item *const *items, size_t count);
void ct_push_request_release(struct ct_push_request *r);

#endif
