/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF files of modules and of debug information: build id, debuglink, and what is in them. For
 * dwarf_module.c.
 */
#ifndef CT_DWARF_ELF_H
#define CT_DWARF_ELF_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CT_DWARF_ID_MAX 64

/* A build id. */
struct ct_dwarf_id {
	uint8_t bytes[CT_DWARF_ID_MAX];
	size_t size; /* 0 = none */
};

struct ct_dwarf_id ct_dwarf_elf_id(const char *hex);
/* Opens an ELF file. Returns its descriptor, or -1 if it isn't one. The caller ends *ELF. */
int ct_dwarf_elf_open(const char *path, Elf **elf);
bool ct_dwarf_elf_has_id(Elf *elf, const struct ct_dwarf_id *id);
/* Returns the bytes of the first section of that NAME that has some, as they are in the file; NULL:
 * there is none. */
const Elf_Data *ct_dwarf_elf_section(Elf *elf, const char *name);
/* Returns the name in the section .gnu_debuglink, and the checksum after it. NULL: there is no such
 * section. */
const char *ct_dwarf_elf_link(Elf *elf, uint32_t *crc);
bool ct_dwarf_elf_has_dwarf(Elf *elf);
/* False: the file has only debug information, its code was left out. */
bool ct_dwarf_elf_has_code(Elf *elf);

#endif
