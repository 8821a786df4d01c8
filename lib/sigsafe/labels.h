/* The labels of one thread: what the program says about what it is doing now.
 *
 * The owner changes them with plain stores, in tens of nanoseconds; its own handlers and hooks read
 * them, which may come between any two of its instructions: a label that is being changed is then
 * not there. The collector reads another thread's, and sees by VERSION whether it was changed
 * meanwhile.
 */
#ifndef CP_LABELS_H
#define CP_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CP_LABELS_MAX 16
#define CP_LABEL_KEY_MAX 63u
#define CP_LABEL_VALUE_MAX 127u

struct cp_label {
	uint8_t key_size, value_size;
	char key[CP_LABEL_KEY_MAX];
	char value[CP_LABEL_VALUE_MAX];
};

struct cp_labels {
	uint32_t version;		     /* odd while the owner changes something */
	uint32_t cached_version, cached_set; /* the set that the labels were at that version */
	uint32_t used;			     /* bit I: LABEL[I] is whole and set */
	uint32_t span;			     /* the serial number of the innermost span: slow.h */
	bool inherit;			     /* threads that the owner makes begin with them */
	struct cp_label label[CP_LABELS_MAX];
};

/* Without labels, in a page of its own; NULL without memory. */
struct cp_labels *cp_labels_new(void);
/* With what FROM, the calling thread's, holds. */
struct cp_labels *cp_labels_clone(const struct cp_labels *from);
/* NULL is fine. */
void cp_labels_free(struct cp_labels *l);

/* By the owner. Sizes within the limits above, no NUL within. 0; -ENOSPC: CP_LABELS_MAX others. */
int cp_labels_set(struct cp_labels *l, const char *key, size_t key_size, const char *value,
		  size_t value_size);
/* 0, or -ENOENT. */
int cp_labels_clear(struct cp_labels *l, const char *key, size_t key_size);
void cp_labels_clear_all(struct cp_labels *l);
/* The value of KEY, or NULL. */
const struct cp_label *cp_labels_find(const struct cp_labels *l, const char *key, size_t key_size);

/* The number of the set (labelset.h) that L, the calling thread's or NULL, is now. Needs 4 KiB of
 * stack when the labels have changed since the last call. Any context. */
uint32_t cp_labels_current(struct cp_labels *l);
/* The same of another thread's: CP_LABELSET_NONE while that is changing them. */
uint32_t cp_labels_of_other(const struct cp_labels *l);

#endif
