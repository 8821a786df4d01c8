/* SPDX-License-Identifier: BSD-3-Clause */
/* Build ids, read from an ELF file's notes (NT_GNU_BUILD_ID): two ELF files with the same build id
 * are the same.
 *
 * The module list reads the id when it first sees a module, and symbols.c at a dump. Raw system
 * calls only. All input is hostile: see elf.h.
 */
#ifndef CP_BUILDID_H
#define CP_BUILDID_H

#include <stddef.h>
#include <stdint.h>

struct cp_elf;

/* These functions return the build id's size and put the id into ID; or -ENOENT (no build id),
 * -ERANGE (longer than ROOM), -ENOEXEC (not an ELF file that elf.c reads), or the error of opening
 * or reading. */
int cp_buildid_of_file(const char *path, uint8_t *id, size_t room);
/* Reads the image of SIZE bytes at IMAGE, which begins with the ELF header, as the loader mapped
 * it. */
int cp_buildid_of_image(uint64_t image, uint64_t size, uint8_t *id, size_t room);
/* Reads the running kernel's build id from /sys/kernel/notes. */
int cp_buildid_of_kernel(uint8_t *id, size_t room);
int cp_buildid_of_elf(const struct cp_elf *e, uint8_t *id, size_t room);

#endif
