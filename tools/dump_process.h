/* A process that runs under libcprof, seen from outside: on which signal it dumps, and where to.
 * For dump.c.
 */
#ifndef CT_DUMP_PROCESS_H
#define CT_DUMP_PROCESS_H

#include <stdbool.h>

#define CT_DUMP_MODES 4

struct ct_dump_place {
	const char *mode;
	char *directory;
	char *pattern; /* of the dumps' names, for fnmatch */
};

struct ct_dump_process {
	int pid, signal;
	struct ct_dump_place places[CT_DUMP_MODES];
	unsigned count;
};

bool ct_dump_is_mode(const char *mode);
/* MODE: only that one; NULL: all that are on. Returns why it can't be asked, to be freed; NULL: it
 * can. */
char *ct_dump_process_open(struct ct_dump_process *d, int pid, const char *mode);
void ct_dump_process_close(struct ct_dump_process *d);

#endif
