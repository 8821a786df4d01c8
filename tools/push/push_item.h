/* SPDX-License-Identifier: BSD-3-Clause */
/* One profile on its way to a receiver: gzipped pprof with what the receiver must know of it. Made
 * by push_series.c, kept by push_queue.c and push_spool.c, sent by push_request.c.
 */
#ifndef CT_PUSH_ITEM_H
#define CT_PUSH_ITEM_H

#include <stdint.h>
#include <stdio.h>

#include "core/model.h"

struct ct_push_item {
	char *series;	  /* the receiver's name of what was measured: "process_cpu" */
	char *labels;	  /* of the process: lines "key=value\n" */
	int64_t from_ns;  /* UTC */
	int64_t until_ns; /* UTC */
	size_t samples;
	char *data; /* gzipped pprof */
	size_t size;
};

/* Packs P. Returns NULL if memory streams fail. */
struct ct_push_item *ct_push_item_new(const char *series, const char *labels, int64_t from_ns,
				      int64_t until_ns, const struct ct_profile *p);
void ct_push_item_free(struct ct_push_item *item);

/* Returns the size of the item's profile before it was compressed. */
size_t ct_push_item_unpacked(const struct ct_push_item *item);
/* Returns the item's profile, or NULL if it can't be read. */
struct ct_profile *ct_push_item_profile(const struct ct_push_item *item);
/* Sets *FIRST and *SECOND to items with half the samples each. Returns 0; or -1 if there is only
 * one sample. */
int ct_push_item_halve(const struct ct_push_item *item, struct ct_push_item **first,
		       struct ct_push_item **second);

/* Writes the item to a file of the spool. Returns 0 or a negative errno. */
int ct_push_item_save(const struct ct_push_item *item, FILE *to);
/* Reads such a file. Returns NULL if it isn't one, or is damaged. */
struct ct_push_item *ct_push_item_load(FILE *from);

/* Calls SEE for each label. */
void ct_push_item_each_label(const struct ct_push_item *item,
			     void (*see)(const char *key, const char *value, void *arg), void *arg);
/* Returns the value of label KEY, to be freed; NULL: there is none. */
char *ct_push_item_label(const struct ct_push_item *item, const char *key);

#endif
