/* Labels of samples: those of the configuration, of the thread's own set, of the thread, of the
 * row.
 *
 * Called by profile.c while it writes, under the collector's lock. Of one key a row has one value:
 * a later one of these takes an earlier one's place.
 */
#ifndef CP_ROW_LABELS_H
#define CP_ROW_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate.h"
#include "pprof.h"
#include "sigsafe/labels.h"

#define CP_ROW_LABELS 4
#define CP_ROW_LABEL_TEXT 256
#define CP_ROW_LABELS_CONFIGURED 16

/* What a mode says of a row. */
struct cp_profile_labels {
	struct cp_pprof_label labels[CP_ROW_LABELS];
	unsigned count;
	char text[CP_ROW_LABEL_TEXT]; /* what labels may point to */
};

/* As they are written. */
struct cp_row_label_list {
	uint32_t thread, set; /* whose */
	bool is_kept;	      /* among those at hand: fresh pages say no */
	size_t count;
	struct cp_pprof_known labels[2 + CP_ROW_LABELS_CONFIGURED + CP_LABELS_MAX + CP_ROW_LABELS];
};

/* A label that a row has by itself, a number. */
struct cp_row_label_own {
	const char *key, *unit;
	struct cp_pprof_known known;
};

struct cp_row_labels {
	struct cp_pprof *w;
	struct cp_pprof_label configured[CP_ROW_LABELS_CONFIGURED];
	size_t configured_count;
	char text[1024];			    /* of the configured ones */
	struct cp_row_label_own own[CP_ROW_LABELS]; /* the row's before this one */
	struct cp_row_label_list *kept;		    /* some lists at hand */
};

/* For the writer W, which is opened later. CONFIGURED: k=v,...; NULL or "" = none. 0 or -ENOMEM. */
int cp_row_labels_open(struct cp_row_labels *x, struct cp_pprof *w, const char *configured);
/* Those that all rows of a thread and a set of labels have in common: made once for many rows. T:
 * the thread's, or NULL; THREAD, SET: numbers that are its and the set's alone. */
const struct cp_row_label_list *cp_row_labels_of(struct cp_row_labels *x, uint32_t thread,
						 const struct cp_thread_label *t, uint32_t set);
/* COMMON and, in place of those of their keys, OWN: in TO. */
void cp_row_labels_add(struct cp_row_labels *x, const struct cp_row_label_list *common,
		       const struct cp_profile_labels *own, struct cp_row_label_list *to);
void cp_row_labels_close(struct cp_row_labels *x);

#endif
