/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of an ELF file's sections, which a program keeps without its symbols; see core.h. */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include "core/core.h"

bool ct_sections_has(const char *path, const char *wanted)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = NULL;
	Elf_Scn *section = NULL;
	size_t names;
	bool found = false;

	elf_version(EV_CURRENT);
	if (fd >= 0)
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && !elf_getshdrstrndx(elf, &names)) {
		while (!found && (section = elf_nextscn(elf, section))) {
			GElf_Shdr h;
			const char *name = gelf_getshdr(section, &h)
						   ? elf_strptr(elf, names, h.sh_name)
						   : NULL;

			found = name && !strcmp(name, wanted);
		}
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}
