/* What a command that ran under libcprof left: its files, and the hottest of them. For run.c. */
#ifndef CT_RUN_SHOW_H
#define CT_RUN_SHOW_H

#include <stdbool.h>
#include <time.h>

struct ct_run_show {
	struct timespec since;	  /* files of before are none of this run's */
	const char *const *roots; /* of debug files, NULL-ended */
	long top;		  /* rows; 0: none */
	const char *flame;	  /* a file for the flame graph, or NULL */
};

/* Where the part of PATH's name begins that stays at its end: ".pb", ".pb.gz". */
const char *ct_run_extension(const char *path);
bool ct_run_wrote(const struct ct_run_show *how, const char *path);
/* Adds lines to the profile at PATH (absolute) of MODE ("cpu"), to its companions and to its
 * children's; shows the top on stderr, of all processes together where the children have more
 * than the command itself; and says where the files are. */
void ct_run_show(const struct ct_run_show *how, const char *mode, const char *path);

#endif
