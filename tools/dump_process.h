/* A process that runs under libcprof, seen from outside: on which signal it dumps, and where to.
 * For dump.c.
 */
#ifndef CT_DUMP_PROCESS_H
#define CT_DUMP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#define CT_DUMP_MODES 4

struct ct_dump_place {
	const char *mode;
	char *directory; /* for messages */
	int fd;		 /* it, opened; or -1 */
	char *pattern;	 /* of the dumps' names, for fnmatch */
};

struct ct_dump_process {
	int pid, signal;
	int only;    /* the mode, of the order of ct_dump_is_mode's; -1: all that are on */
	int process; /* pidfd: another process that gets the number is not signalled; -1: too old a
			kernel */
	uid_t user;  /* whose files it makes */
	struct ct_dump_place places[CT_DUMP_MODES];
	unsigned count;
};

bool ct_dump_is_mode(const char *mode);
/* MODE: only that one; NULL: all that are on. Returns why it can't be asked, to be freed; NULL: it
 * can. */
char *ct_dump_process_open(struct ct_dump_process *d, int pid, const char *mode);
/* 0, or -1 and errno. */
int ct_dump_process_signal(const struct ct_dump_process *d, int signal);
void ct_dump_process_close(struct ct_dump_process *d);

#endif
