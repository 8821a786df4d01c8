/* From addresses of a module to functions, files, lines and inlined calls, read from its DWARF.
 *
 * For symbolize.c; ordinary context, one thread. Many addresses are asked for at once: they are
 * sorted by unit, only units that hold one are read, and each of those once, front to back.
 */
#ifndef CT_DWARF_H
#define CT_DWARF_H

#include <stddef.h>
#include <stdint.h>

struct ct_dwarf;

/* One line of a location. Texts live until ct_dwarf_close. */
struct ct_dwarf_frame {
	const char *name; /* linkage name where there is one, else the plain name; or NULL */
	const char *file; /* absolute where the DWARF allows it; or NULL */
	unsigned line, column;
	unsigned start_line; /* of the function, in FILE; 0 = unknown, or it is in another file */
};

struct ct_dwarf_query {
	uint64_t address; /* as linked (p_vaddr), of the instruction */
	void *tag;	  /* the caller's */
	/* out: innermost first, the physical function last; NULL and 0 = nothing is known */
	struct ct_dwarf_frame *frames;
	unsigned count;
};

struct ct_dwarf_stats {
	size_t units, units_read; /* that there are; whose functions were read */
};

/* FD, which stays the caller's, is an ELF file with DWARF. PATH is where it (or rather the
 * module that it belongs to) is, for what lies beside: split units and their package. ROOTS: places
 * like /usr/lib/debug, NULL-ended, that a supplementary file (dwz) may be in.
 * 0; -ENOENT: there is no DWARF in it; -EINVAL: not an ELF file that we read; -ENOMEM. */
int ct_dwarf_open(struct ct_dwarf **d, int fd, const char *path, const char *const *roots);
void ct_dwarf_close(struct ct_dwarf *d);

/* Fill the N queries, in any order; they come back sorted by address. Malformed data gives less,
 * never an error. -ENOMEM: some or all are empty. */
int ct_dwarf_find(struct ct_dwarf *d, struct ct_dwarf_query *q, size_t n);

void ct_dwarf_stats(const struct ct_dwarf *d, struct ct_dwarf_stats *s);

#endif
