/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the profile of the previous run beside the new one, and compares the two. For run.c. */
#ifndef CT_RUN_KEEP_H
#define CT_RUN_KEEP_H

struct ct_run_keep {
	int fd; /* the file that was there before the command ran; -1: none */
};

/* Call before the command runs, because the library replaces PATH as a whole. */
void ct_run_keep_open(struct ct_run_keep *k, const char *path);
/* Call after the command has replaced PATH: the previous contents become NAME.before.EXT, the
 * previous NAME.before.EXT becomes NAME.before2.EXT, and so on up to COUNT files. Returns the path
 * of the first, which the caller frees, or NULL if there was none, or if it can't be kept, which is
 * reported. Releases K. */
char *ct_run_keep_store(struct ct_run_keep *k, const char *path, long count);
void ct_run_keep_close(struct ct_run_keep *k);
/* May the profiles at A and B be compared? They must be of one program, with the same types and
 * with samples. */
int ct_run_keep_comparable(const char *a, const char *b);

#endif
