/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of an ELF file; see dwarf.h. */
#include "core/core.h"
#include "dwarf/dwarf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[CT_DW_SECTIONS] = {
	[CT_DW_INFO] = "info",	       [CT_DW_ABBREV] = "abbrev",
	[CT_DW_STR] = "str",	       [CT_DW_LINE] = "line",
	[CT_DW_LINE_STR] = "line_str", [CT_DW_STR_OFFSETS] = "str_offsets",
	[CT_DW_ADDR] = "addr",	       [CT_DW_RANGES] = "ranges",
	[CT_DW_RNGLISTS] = "rnglists", [CT_DW_ARANGES] = "aranges",
	[CT_DW_CU_INDEX] = "cu_index",
};

/* Returns the number of the section called NAME, or -1. Sets *OLD if it is compressed in the old
 * way, from before SHF_COMPRESSED. */
static int section_of(const char *name, bool split, bool *old)
{
	size_t n;

	*old = !strncmp(name, ".zdebug_", 8);
	if (!*old && strncmp(name, ".debug_", 7))
		return -1;
	name += *old ? 8 : 7;
	n = strlen(name);
	if (n > 4 && !strcmp(name + n - 4, ".dwo")) {
		if (!split)
			return -1;
		n -= 4;
	} else if (split && strcmp(name, "cu_index")) {
		return -1;
	}
	for (int i = 0; i < CT_DW_SECTIONS; i++)
		if (strlen(names[i]) == n && !strncmp(name, names[i], n))
			return i;
	return -1;
}

bool ct_dwarf_file_reads(const char *name)
{
	bool old;

	return section_of(name, false, &old) >= 0 || section_of(name, true, &old) >= 0;
}

/* Contents of sections with debug information. Compressed ones are unpacked: by libelf from zlib,
 * and from zstd by libelf (elfutils 0.189 on) or libzstd.so.1. */

/* ELFCOMPRESS_ZSTD, which older headers lack. */
#define ZSTD 2
/* Debug information becomes 3 to 20 times larger. A file whose sections claim more than this wants
 * to use up the memory. */
#define GROWTH_MAX 1000

/* type of ZSTD_decompress */
typedef size_t decompress_function(void *to, size_t room, const void *from, size_t size);

/* Loads the library at the first use, because few systems' files need it. */
static decompress_function *load_zstd(void)
{
	static decompress_function *decompress;
	static bool tried;

	if (!tried) {
		tried = true;
		ct_library_load("libzstd.so.1",
				&(struct ct_library_function){ "ZSTD_decompress", &decompress }, 1);
	}
	return decompress;
}

/* The compressed bytes follow a header, which has 12 bytes in 32-bit files and 24 in others. */
static int unpack_zstd(Elf_Scn *scn, const GElf_Chdr *c, bool is_32, struct ct_dw_bytes *bytes,
		       void **memory)
{
	const Elf_Data *packed = elf_rawdata(scn, NULL);
	size_t head = is_32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	decompress_function *decompress = load_zstd();
	void *to;

	if (!decompress || !packed || !packed->d_buf || packed->d_size <= head || !c->ch_size ||
	    c->ch_size / GROWTH_MAX > packed->d_size)
		return -EOPNOTSUPP;
	to = malloc(c->ch_size);
	if (!to || decompress(to, c->ch_size, (const char *)packed->d_buf + head,
			      packed->d_size - head) != c->ch_size) {
		free(to);
		return -EOPNOTSUPP;
	}
	*bytes = (struct ct_dw_bytes){ to, c->ch_size };
	*memory = to;
	return 0;
}

/* Gets the contents of SCN in ELF. OLD: the section is compressed in the old way, from before
 * SHF_COMPRESSED. *MEMORY: the bytes, for free, if they don't belong to SCN; else NULL. Returns 0,
 * -ENOENT (no contents) or -EOPNOTSUPP (they can't be unpacked). */
static int dwarf_section_load(Elf *elf, Elf_Scn *scn, bool old, struct ct_dw_bytes *bytes,
			      void **memory)
{
	Elf_Data *data;
	GElf_Shdr h;
	GElf_Chdr c;

	*memory = NULL;
	if (!gelf_getshdr(scn, &h) || h.sh_type == SHT_NOBITS)
		return -ENOENT;
	if ((old || h.sh_flags & SHF_COMPRESSED) && (data = elf_rawdata(scn, NULL)))
		ct_dwarf_elf_will_read(data->d_buf, data->d_size);
	if (old && elf_compress_gnu(scn, 0, 0) < 0)
		return -EOPNOTSUPP;
	if (h.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0) {
		if (!gelf_getchdr(scn, &c) || c.ch_type != ZSTD)
			return -EOPNOTSUPP;
		return unpack_zstd(scn, &c, gelf_getclass(elf) == ELFCLASS32, bytes, memory);
	}
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return -ENOENT;
	*bytes = (struct ct_dw_bytes){ data->d_buf, data->d_size };
	return 0;
}

/* Reads the sections. Returns whether a needed section can't be unpacked. */
static bool load_sections(struct ct_dw_file *f, size_t names_index)
{
	bool packed = false;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr h;
		const char *name =
			gelf_getshdr(scn, &h) ? elf_strptr(f->elf, names_index, h.sh_name) : NULL;
		bool old;
		int which = name ? section_of(name, f->split, &old) : -1;

		if (which >= 0 && !f->section[which].size)
			packed |= dwarf_section_load(f->elf, scn, old, &f->section[which],
						     &f->memory[which]) == -EOPNOTSUPP;
	}
	return packed;
}

static uint64_t lowest_text(Elf *elf)
{
	uint64_t low = UINT64_MAX;
	size_t count = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && i <= INT16_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X &&
		    p.p_vaddr < low)
			low = p.p_vaddr;
	return low == UINT64_MAX ? 0 : low;
}

int ct_dwarf_file_load(struct ct_dw_file *f, int fd, bool split)
{
	size_t names_index;
	const char *ident;
	bool packed;

	elf_version(EV_CURRENT);
	*f = (struct ct_dw_file){ .fd = -1, .split = split };
	f->elf = ct_dwarf_elf_begin(fd);
	ident = f->elf ? elf_getident(f->elf, NULL) : NULL;
	if (!ident || elf_kind(f->elf) != ELF_K_ELF || ident[EI_DATA] != ELFDATA2LSB ||
	    elf_getshdrstrndx(f->elf, &names_index)) {
		ct_dwarf_file_close(f);
		return -EINVAL;
	}
	f->text_low = lowest_text(f->elf);
	packed = load_sections(f, names_index);
	if (f->section[CT_DW_INFO].size && f->section[CT_DW_ABBREV].size)
		return 0;
	ct_dwarf_file_close(f);
	return packed ? -EOPNOTSUPP : -ENOENT;
}

int ct_dwarf_file_open(struct ct_dw_file *f, const char *path, bool split)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return -errno;
	err = ct_dwarf_file_load(f, fd, split);
	if (err)
		close(fd);
	else
		f->fd = fd;
	return err;
}

void ct_dwarf_file_close(struct ct_dw_file *f)
{
	for (int i = 0; i < CT_DW_CACHED; i++) {
		ct_dwarf_abbrev_free(f->abbrevs[i]);
		ct_dwarf_line_free(f->lines[i]);
	}
	ct_dwarf_parents_free(f);
	free(f->units);
	for (int i = 0; i < CT_DW_SECTIONS; i++)
		free(f->memory[i]);
	if (f->alt) {
		ct_dwarf_file_close(f->alt);
		free(f->alt);
	}
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct ct_dw_file){ .fd = -1 };
}

/* ---- supplementary files ---- */

static bool take_supplement(struct ct_dw_file *f, const char *path, const struct ct_dwarf_id *id)
{
	struct ct_dw_file *alt = ct_memory_alloc(sizeof(*alt));

	if (!ct_dwarf_file_open(alt, path, false)) {
		if (ct_dwarf_elf_has_id(alt->elf, id)) {
			f->alt = alt;
			return true;
		}
		ct_dwarf_file_close(alt);
	}
	free(alt);
	return false;
}

static bool try_below(struct ct_dw_file *f, const char *a, size_t n, const char *b, const char *c,
		      const struct ct_dwarf_id *id)
{
	char *path = ct_memory_printf("%.*s%s%s", (int)n, a, b, c);
	bool done = take_supplement(f, path, id);

	free(path);
	return done;
}

/* Tries ROOT/.build-id/ab/cdef.debug, and the link's own name below ROOT/.dwz. */
static bool try_root(struct ct_dw_file *f, const char *root, const char *name,
		     const struct ct_dwarf_id *id)
{
	char hex[2 * CT_DWARF_ID_MAX + 16] = "/.build-id/", *to = hex + strlen(hex);
	const char *base = strrchr(name, '/');

	for (size_t i = 0; i < id->size; i++) {
		*to++ = "0123456789abcdef"[id->bytes[i] >> 4];
		*to++ = "0123456789abcdef"[id->bytes[i] & 15];
		if (!i)
			*to++ = '/';
	}
	*to = '\0';
	return try_below(f, root, strlen(root), hex, ".debug", id) ||
	       try_below(f, root, strlen(root), "/.dwz/", base ? base + 1 : name, id);
}

void ct_dwarf_file_supplement(struct ct_dw_file *f, const char *path, const char *const *roots)
{
	const Elf_Data *link = ct_dwarf_elf_section(f->elf, ".gnu_debugaltlink");
	const char *name = link ? link->d_buf : NULL, *slash = strrchr(path, '/');
	size_t n = link ? strnlen(name, link->d_size) + 1 : 0;
	struct ct_dwarf_id id = { 0 };

	if (!link || link->d_size < n + 8 || link->d_size - n > sizeof(id.bytes))
		return;
	id.size = link->d_size - n;
	memcpy(id.bytes, name + n, id.size);
	if (*name == '/' && take_supplement(f, name, &id))
		return;
	if (*name != '/' && slash && try_below(f, path, (size_t)(slash - path) + 1, name, "", &id))
		return;
	for (; roots && *roots; roots++)
		if (try_root(f, *roots, name, &id))
			return;
}
