/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a module's separate debug file as debuggers do: by build id, then by debuglink.
 *
 * For symbols.c; see there for the context. Nothing is downloaded. A file is used only if it
 * provably belongs to the module (equal build id, or the debuglink's CRC) and has a .symtab.
 */
#ifndef CP_DEBUGFILE_H
#define CP_DEBUGFILE_H

#include <stddef.h>
#include <stdint.h>

struct cp_elf;

struct cp_debugfile_query {
	const char *path; /* of the module, absolute */
	const struct cp_elf
		*module; /* its file; NULL when the file is gone: then debuglink isn't tried */
	const uint8_t *build_id;
	size_t build_id_size; /* 0 = no build id */
	const char *root;     /* NULL = /usr/lib/debug */
	int *trouble;	      /* goes to cp_elf_open_watched; may be NULL */
};

/* Open the debug file. Returns 0 (close with cp_elf_close) or -ENOENT. */
int cp_debugfile_open(struct cp_elf *e, const struct cp_debugfile_query *q);

#endif
