/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about an ELF file from its own contents; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/read.h"

/* A larger file has so many pages that are read that fetching them one by one takes longer. */
#define SCATTERED_MAX ((size_t)16 << 20)

static void advise(const void *bytes, size_t n, int advice)
{
	size_t within = (uintptr_t)bytes % (size_t)sysconf(_SC_PAGESIZE);

	if (n)
		madvise((char *)(uintptr_t)bytes - within, n + within, advice);
}

/* Fetches the headers that elf_begin reads. */
static void fetch_headers(int fd)
{
	char bytes[64 * sizeof(Elf64_Shdr)];
	Elf64_Ehdr h;

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	if (pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
	    h.e_ident[EI_CLASS] == ELFCLASS64 &&
	    pread(fd, bytes, sizeof(bytes), (off_t)h.e_shoff) < 0)
		return;
}

Elf *ct_dwarf_elf_begin(int fd)
{
	const char *bytes;
	size_t n = 0;
	Elf *elf;

	fetch_headers(fd);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bytes = elf ? elf_rawfile(elf, &n) : NULL;
	if (bytes && n <= SCATTERED_MAX)
		advise(bytes, n, MADV_RANDOM);
	return elf;
}

void ct_dwarf_elf_will_read(const void *bytes, size_t n)
{
	advise(bytes, n, MADV_WILLNEED);
}

struct ct_dwarf_id ct_dwarf_elf_id(const char *hex)
{
	struct ct_dwarf_id id = { .size = 0 };
	unsigned byte;

	for (; id.size < CT_DWARF_ID_MAX && sscanf(hex, "%2x", &byte) == 1 && hex[0] && hex[1];
	     hex += 2)
		id.bytes[id.size++] = (uint8_t)byte;
	return id;
}

/* Returns the build id among the NOTES, or NULL. */
static const uint8_t *id_in(Elf_Data *notes, size_t *size)
{
	size_t name, descriptor, next;
	GElf_Nhdr h;

	for (size_t at = 0; notes && (next = gelf_getnote(notes, at, &h, &name, &descriptor)) > 0;
	     at = next) {
		const char *bytes = notes->d_buf;

		if (h.n_type != NT_GNU_BUILD_ID || h.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name, "GNU", sizeof("GNU")))
			continue;
		*size = h.n_descsz;
		return (const uint8_t *)bytes + descriptor;
	}
	return NULL;
}

/* The notes of sections come first, because a debug file lacks the contents of its segments. A file
 * without sections has segments. */
static const uint8_t *find_id(Elf *elf, size_t *size)
{
	const uint8_t *id = NULL;
	Elf_Scn *scn = NULL;
	size_t count = 0;
	GElf_Shdr s;
	GElf_Phdr p;

	while (!id && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &s) && s.sh_type == SHT_NOTE)
			id = id_in(elf_getdata(scn, NULL), size);
	if (id || elf_nextscn(elf, NULL) || elf_getphdrnum(elf, &count))
		return id;
	for (size_t i = 0; !id && i < count && i < INT16_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_NOTE)
			id = id_in(elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
							p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				   size);
	return id;
}

bool ct_dwarf_elf_has_id(Elf *elf, const struct ct_dwarf_id *id)
{
	size_t size;
	const uint8_t *found = find_id(elf, &size);

	return found && size == id->size && !memcmp(found, id->bytes, size);
}

const Elf_Data *ct_dwarf_elf_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		const char *its = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		const Elf_Data *d = its && h.sh_type != SHT_NOBITS && !strcmp(its, name)
					    ? elf_rawdata(scn, NULL)
					    : NULL;

		if (d && d->d_buf && d->d_size)
			return d;
	}
	return NULL;
}

const char *ct_dwarf_elf_link(Elf *elf, uint32_t *crc)
{
	const Elf_Data *d = ct_dwarf_elf_section(elf, ".gnu_debuglink");
	size_t n = d ? strnlen(d->d_buf, d->d_size) : 0;

	/* The name is padded to a multiple of four bytes. */
	n = (n + 4) & ~(size_t)3;
	if (!d || n + sizeof(*crc) > d->d_size)
		return NULL;
	memcpy(crc, (const char *)d->d_buf + n, sizeof(*crc));
	return d->d_buf;
}

/* Refuses pipes and devices, because only files can be mapped. */
int ct_dwarf_elf_open(const char *path, Elf **elf)
{
	int fd = ct_input_open_plain(path);

	elf_version(EV_CURRENT);
	*elf = fd < 0 ? NULL : ct_dwarf_elf_begin(fd);
	if (*elf && elf_kind(*elf) == ELF_K_ELF)
		return fd;
	elf_end(*elf);
	*elf = NULL;
	if (fd >= 0)
		close(fd);
	return -1;
}

bool ct_dwarf_elf_has_dwarf(Elf *elf)
{
	return ct_dwarf_elf_section(elf, ".debug_info") ||
	       ct_dwarf_elf_section(elf, ".zdebug_info");
}

bool ct_dwarf_elf_has_code(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr h;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &h) && h.sh_type == SHT_PROGBITS &&
		    (h.sh_flags & SHF_EXECINSTR) != 0)
			return true;
	return false;
}
