/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels of samples, from four sources: the configuration, the thread's label set, the thread, the
 * row.
 *
 * The encoder calls this while it writes, under the collector's lock. A row has one value per key:
 * a later source in this list overrides an earlier one.
 */
#ifndef CP_ROW_LABELS_H
#define CP_ROW_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "output/pprof.h"
#include "sample/labels.h"

#define CP_ROW_LABELS 16
#define CP_ROW_LABEL_TEXT 256
#define CP_ROW_LABELS_CONFIGURED 16

/* The labels that a mode gives to a row. */
struct cp_encode_labels {
	struct cp_pprof_label labels[CP_ROW_LABELS];
	unsigned count;
	char text[CP_ROW_LABEL_TEXT]; /* storage for label texts */
};

/* A finished list of labels, as written. */
struct cp_row_label_list {
	uint32_t thread, set; /* which thread's and set's list this is */
	bool is_kept;	      /* the list is cached; fresh pages hold false */
	size_t count;
	struct cp_pprof_known labels[2 + CP_ROW_LABELS_CONFIGURED + CP_LABELS_MAX + CP_ROW_LABELS];
};

/* A numeric label of a row. */
struct cp_row_label_own {
	const char *key, *unit;
	struct cp_pprof_known known;
};

struct cp_row_labels {
	struct cp_pprof *w;
	struct cp_pprof_label configured[CP_ROW_LABELS_CONFIGURED];
	size_t configured_count;
	char text[1024];			    /* of the configured ones */
	struct cp_row_label_own own[CP_ROW_LABELS]; /* labels of the row before this one */
	struct cp_row_label_list *kept;		    /* a cache of lists */
};

/* Open for the writer W, which is opened later. CONFIGURED: k=v,...; NULL or "" = no labels.
 * Returns 0 or -ENOMEM. */
int cp_row_labels_open(struct cp_row_labels *x, struct cp_pprof *w, const char *configured);
/* Returns the labels that all rows of a thread and a label set share; the list is made once for
 * many rows. T: the thread's labels, or NULL. THREAD and SET: numbers that identify the thread and
 * the set. */
const struct cp_row_label_list *cp_row_labels_of(struct cp_row_labels *x, uint32_t thread,
						 const struct cp_thread_label *t, uint32_t set);
/* Write COMMON to TO, with the labels in OWN added; a label in OWN replaces one of COMMON with the
 * same key. */
void cp_row_labels_add(struct cp_row_labels *x, const struct cp_row_label_list *common,
		       const struct cp_encode_labels *own, struct cp_row_label_list *to);
void cp_row_labels_close(struct cp_row_labels *x);

#endif
