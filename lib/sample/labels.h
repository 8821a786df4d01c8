/* SPDX-License-Identifier: BSD-3-Clause */
/* The labels of one thread: key and value pairs with which the program says what it is doing now.
 *
 * The owner changes its labels with plain stores, in tens of nanoseconds. The owner's own handlers
 * and hooks read them between any two of its instructions; a label that is being changed is then
 * absent. The collector reads another thread's labels, and VERSION tells whether they were changed
 * meanwhile.
 */
#ifndef CP_LABELS_H
#define CP_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_trace_ids;

#define CP_LABELS_MAX 16
#define CP_LABEL_KEY_MAX 63u
#define CP_LABEL_VALUE_MAX 127u

struct cp_label {
	uint8_t key_size, value_size;
	char key[CP_LABEL_KEY_MAX];
	char value[CP_LABEL_VALUE_MAX];
};

struct cp_labels {
	uint32_t version;		     /* odd while the owner changes a label */
	uint32_t cached_version, cached_set; /* the label set, by number, at that version */
	uint32_t used;			     /* bit I: LABEL[I] is complete and set */
	uint32_t span; /* the serial number of the innermost span: slow_spans.h */
	bool inherit;  /* threads that the owner creates start with these labels */
	struct cp_label label[CP_LABELS_MAX];
};

/* Returns a struct without labels, in a page of its own; NULL without memory. */
struct cp_labels *cp_labels_new(void);
/* Returns a copy of FROM, the calling thread's labels; NULL without memory. */
struct cp_labels *cp_labels_clone(const struct cp_labels *from);
/* L may be NULL. */
void cp_labels_free(struct cp_labels *l);

/* Sets KEY to VALUE. Only the owner calls this. Sizes are within the limits above, without NUL
 * bytes. Returns 0, or -ENOSPC if CP_LABELS_MAX other labels are set. */
int cp_labels_set(struct cp_labels *l, const char *key, size_t key_size, const char *value,
		  size_t value_size);
/* Returns 0, or -ENOENT. */
int cp_labels_clear(struct cp_labels *l, const char *key, size_t key_size);
void cp_labels_clear_all(struct cp_labels *l);
/* Returns the label with KEY, or NULL. */
const struct cp_label *cp_labels_find(const struct cp_labels *l, const char *key, size_t key_size);

/* Returns the number of the label set (labelset.h) that L holds now. L is the calling thread's, or
 * NULL. Needs 4 KiB of stack if the labels have changed since the last call. Any context. */
uint32_t cp_labels_current(struct cp_labels *l);
/* The same with labels trace_id and span_id, as hexadecimal digits, unless L has such labels
 * itself. Returns CP_LABELSET_LOST if there is no room for more sets of this kind. */
uint32_t cp_labels_traced(const struct cp_labels *l, const struct cp_trace_ids *ids);
/* The same for another thread's labels; IDS is NULL if nothing is known. Returns CP_LABELSET_NONE
 * while the owner is changing them. */
uint32_t cp_labels_of_other(const struct cp_labels *l, const struct cp_trace_ids *ids);

#endif
