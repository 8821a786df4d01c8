/* Names of profile files: templates, dump numbers, process suffixes. */
#ifndef CP_PATH_H
#define CP_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_path_facts {
	int pid;
	const char *program; /* basename */
	const char *host;
	uint64_t start_time; /* UTC seconds since 1970, for %t */
	const char *rank;    /* MPI or Slurm rank as decimal text; NULL = none */
};

/* Each function returns 0, or -ENAMETOOLONG with TO untouched. */

/* Expand %p %e %t %h of TEMPLATE (%t is YYYYmmdd-HHMMSS in UTC; an unknown %x is kept as it is),
 * make it absolute from CWD, append ".rank-N" when a rank is known and the template has no %p.
 * *HAS_PID tells whether %p occurred. The result is still a template: %n and %% are for
 * cp_path_number, which every path goes through before it is opened, and a % of the directory's or
 * the program's name comes out doubled. */
int cp_path_expand(char *to, size_t size, const char *template, const char *cwd,
		   const struct cp_path_facts *facts, bool *has_pid);

/* PATH for dump NUMBER (1..): "%n" replaced by four digits, else NAME.0001.EXT, where EXT is what
 * follows the last dot of the file name (".pb.gz" and ".pprof.gz" count as one EXT; a dot at the
 * name's start is none). NUMBER 0: the path at exit: ".%n", "-%n", "_%n" or "%n" is removed, or
 * becomes 0000 where the name starts with it. "%%" becomes "%". */
int cp_path_number(char *to, size_t size, const char *path, unsigned number);

/* PATH, still a template, with "." and INFIX before its EXT: NAME.peak.EXT. TO may be PATH. */
int cp_path_infix(char *to, size_t size, const char *path, const char *infix);

/* PATH with "." and PID behind it, and "." and SEQUENCE when that is above 1. TO may be PATH. */
int cp_path_process(char *to, size_t size, const char *path, int pid, unsigned sequence);

#endif
