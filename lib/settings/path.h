/* SPDX-License-Identifier: BSD-3-Clause */
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
	uint64_t start_time;			   /* UTC seconds since 1970, for %t */
	const char *(*variable)(const char *name); /* for %q{NAME}; NULL: none is set */
	const char *rank; /* MPI or Slurm rank as decimal text; NULL = no rank */
};

/* Each function returns 0, or -ENAMETOOLONG with TO untouched; cp_path_expand also -ESTALE:
 * TEMPLATE is relative, and CWD is "". */

/* Expands %p %e %t %h and %q{NAME}, the value of an environment variable, of TEMPLATE and makes the
 * path absolute from CWD. %t is YYYYmmdd-HHMMSS in UTC; an unknown %x is kept. Appends ".rank-N" if
 * a rank is known and the template has no %p. Sets *HAS_PID if %p occurred. The result is still a
 * template: %n and %% are left for cp_path_number, which every path passes before it is opened. So
 * a % in the directory's or the program's name is doubled. */
int cp_path_expand(char *to, size_t size, const char *template, const char *cwd,
		   const struct cp_path_facts *facts, bool *has_pid);

/* Writes the path of dump NUMBER (1 and up) to TO: "%n" is replaced by four digits; without %n the
 * path is NAME.0001.EXT. EXT is the part after the last dot of the file name (".pb.gz" and
 * ".pprof.gz" count as one EXT; a dot at the start of the name begins no EXT). NUMBER 0 gives the
 * path at exit: ".%n", "-%n", "_%n" or "%n" is removed, or becomes 0000 at the start of the name.
 * "%%" becomes "%". */
int cp_path_number(char *to, size_t size, const char *path, unsigned number);

/* Writes PATH, still a template, with "." and INFIX before its EXT: NAME.peak.EXT. TO may be
 * PATH. */
int cp_path_infix(char *to, size_t size, const char *path, const char *infix);

/* Appends "." and PID to PATH, then "." and SEQUENCE if SEQUENCE is above 1. TO may be PATH. */
int cp_path_process(char *to, size_t size, const char *path, int pid, unsigned sequence);

/* Returns the first byte of VALUE, a path from the environment, without gperftools' mark.
 * gperftools sets that byte's highest bit in CPUPROFILE and HEAPPROFILE to tell the program's
 * children that they are children. A byte that begins a UTF-8 sequence is returned unchanged. */
char cp_path_first(const char *value);
/* Returns whether A and B are the same path, with or without the mark. */
bool cp_path_same(const char *a, const char *b);

#endif
