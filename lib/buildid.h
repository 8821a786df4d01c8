/* Build ids: what makes two ELF files the same, from their notes (NT_GNU_BUILD_ID).
 *
 * For the module list, when a module is first seen, and for symbols at a dump. Raw system
 * calls only. What is read is hostile input: see elf.h.
 */
#ifndef CP_BUILDID_H
#define CP_BUILDID_H

#include <stddef.h>
#include <stdint.h>

struct cp_elf;

/* Each: the build id's size, with the id in ID; or -ENOENT (it has none), -ERANGE (longer than
 * ROOM), -ENOEXEC (no ELF we read), or the error of opening or reading. */
int cp_buildid_of_file(const char *path, uint8_t *id, size_t room);
/* The image of SIZE bytes at IMAGE, its ELF header first, as the loader mapped it. */
int cp_buildid_of_image(uint64_t image, uint64_t size, uint8_t *id, size_t room);
/* The running kernel's, from /sys/kernel/notes. */
int cp_buildid_of_kernel(uint8_t *id, size_t room);
int cp_buildid_of_elf(const struct cp_elf *e, uint8_t *id, size_t room);

#endif
