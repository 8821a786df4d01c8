/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the functions, files, lines and inlined calls at addresses of a module, from its DWARF.
 *
 * For symbolize.c; ordinary context, one thread. Many addresses are looked up at once: they are
 * sorted by unit, only units that hold one are read, and each unit is read once, front to back.
 */
#ifndef CT_DWARF_H
#define CT_DWARF_H

#include <stddef.h>
#include <stdint.h>

struct ct_dwarf;

/* One line of a location. Its texts are valid until ct_dwarf_close. */
struct ct_dwarf_frame {
	/* The linkage name if there is one. Else the name in the source; in C++ with the names of
	 * the scopes that contain the function, as the demangler would write it. Or NULL. */
	const char *name;
	const char *file; /* absolute if the DWARF allows it; or NULL */
	unsigned line, column;
	unsigned start_line; /* of the function, in FILE; 0 = unknown, or it is in another file */
};

struct ct_dwarf_query {
	uint64_t address; /* of the instruction, as linked (p_vaddr) */
	void *tag;	  /* the caller's */
	/* out: innermost first, the physical function last; NULL and 0 = nothing was found */
	struct ct_dwarf_frame *frames;
	unsigned count;
};

/* Opens the ELF file FD, which the caller still has to close. PATH is the path of the file, or of
 * the module that it belongs to; split units and their package are looked for beside it. ROOTS are
 * directories like /usr/lib/debug, ended by NULL, where a supplementary file (dwz) may be. Returns
 * 0; -ENOENT if the file has no DWARF; -EOPNOTSUPP if it is compressed and can't be unpacked;
 * -EINVAL if it is not an ELF file that this reader supports; -ENOMEM. */
int ct_dwarf_open(struct ct_dwarf **d, int fd, const char *path, const char *const *roots);
void ct_dwarf_close(struct ct_dwarf *d);

/* Answers the N queries, in any order; afterwards they are sorted by address. Malformed data gives
 * fewer results, never an error. -ENOMEM: some or all answers are empty. */
int ct_dwarf_find(struct ct_dwarf *d, struct ct_dwarf_query *q, size_t n);

#endif
