/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the result of a command that ran under libcprof: its files, and its hottest functions. For
 * run.c. */
#ifndef CT_RUN_SHOW_H
#define CT_RUN_SHOW_H

#include <stdbool.h>
#include <time.h>

struct ct_run_show {
	struct timespec since;	  /* files from before this time belong to earlier runs */
	const char *const *roots; /* directories of debug files, NULL-ended */
	long top;		  /* rows; 0: none */
	const char *flame;	  /* file for the flame graph, or NULL */
	bool open;		  /* open the flame graph in a browser */
	bool window;		  /* of a part of the run: of the heap, what was allocated in it */
};

/* Call before the command runs, for struct ct_run_show's since. Returns a time that no file has
 * yet; waits some milliseconds for it. */
struct timespec ct_run_show_start(void);
/* Returns the part of PATH's name that stays at its end: ".pb", ".pb.gz". */
const char *ct_run_show_extension(const char *path);
bool ct_run_show_wrote(const struct ct_run_show *how, const char *path);
/* Prints on stderr the changes from the profile at BEFORE to the one at PATH. */
void ct_run_show_change(const char *mode, const char *before, const char *path);
/* Adds lines to the profile at PATH (absolute) of MODE ("cpu"), to its companions and to its
 * children's profiles. Shows the top on stderr, that of all processes together if the children have
 * more than the command itself. Prints where the files are. */
void ct_run_show(const struct ct_run_show *how, const char *mode, const char *path);
/* Returns COMMAND's name with .html, which the caller frees. */
char *ct_run_show_page(const char *command);
/* Call after all modes: makes their flame graph, with one tab for each. */
void ct_run_show_flame(const struct ct_run_show *how);

#endif
