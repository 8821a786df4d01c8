/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for addresses, from ELF symbol tables: .symtab, .dynsym and separate debug files (build id,
 * debuglink).
 *
 * Called at a dump, one thread at a time, possibly while another thread of the program holds
 * malloc's or the loader's lock: raw system calls and own pages only. Files are read with pread,
 * not mapped, because a truncated mapping would SIGBUS the program. One streaming pass per module
 * bounds memory by the number of addresses asked for, not by the size of the symbol table.
 */
#ifndef CP_SYMBOLS_H
#define CP_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define CP_BUILD_ID_MAX 64

struct cp_symbol_module {
	const char *path; /* the path in /proc/PID/maps, without " (deleted)" */
	bool replaced;	  /* deleted: a file at PATH is used only if it has the same build id */
	const char *also; /* leads to the same file by another path; may be NULL */
	const uint8_t *build_id; /* of the mapped image; NULL = none */
	size_t build_id_size;
	/* Address of the ELF image in this process, from its first byte, or 0. Used for the vdso,
	 * and for a module whose file is gone or has another build id. */
	uint64_t image;
	uint64_t image_size;
};

struct cp_elf;
/* Open the module's file if it is still the one that was mapped, otherwise its image. Returns 0 or
 * -ENOENT. Close with cp_elf_close. TROUBLE as for cp_elf_open_watched, or NULL. */
int cp_symbols_open(struct cp_elf *e, const struct cp_symbol_module *m, int *trouble);

struct cp_symbol_query {
	uint64_t offset; /* file offset of the instruction in the module */
	/* out: */
	const char *name; /* raw (mangled), in the arena; NULL = no symbol covers it */
	uint64_t
		start; /* file offset where the function starts, set even if it has no name; or 0 */
	/* Without a name: the place of START, or else of the instruction, as the file has it (what
	 * objdump and addr2line take); the offset if the file could not be read. */
	uint64_t address;
};

/* Fill NAME and START of the N queries (any order; sorted in place by offset). Returns 0 even if
 * some or all stay unnamed; -ENOENT if there is no symbol table; -ENOMEM; or another error if some
 * stay unnamed and a file that may have their names could not be read. A file whose build id
 * differs from the module's is not used. */
int cp_symbols_find(const struct cp_symbol_module *m, struct cp_symbol_query *q, size_t n,
		    struct cp_arena *names);

#endif
