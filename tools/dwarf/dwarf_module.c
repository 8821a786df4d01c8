/* SPDX-License-Identifier: BSD-3-Clause */
/* A module and its debug information; see dwarf_module.h. */
#include "dwarf/dwarf_module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/memory.h"
#include "dwarf/dwarf_unpacked.h"

#define ID_MAX 64
#define PAGE 4096u

struct id {
	uint8_t bytes[ID_MAX];
	size_t size; /* 0 = none */
};

/* The module whose debug information is wanted. */
struct wanted {
	const char *path;
	struct id id;
	const char *link; /* the name in .gnu_debuglink, in the module's file */
	uint32_t crc;
	const char *const *roots;
};

static struct id id_of_hex(const char *hex)
{
	struct id id = { .size = 0 };
	unsigned byte;

	for (; id.size < ID_MAX && sscanf(hex, "%2x", &byte) == 1 && hex[0] && hex[1]; hex += 2)
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

static bool has_id(Elf *elf, const struct id *id)
{
	size_t size;
	const uint8_t *found = find_id(elf, &size);

	return found && size == id->size && !memcmp(found, id->bytes, size);
}

/* Returns the name in the section .gnu_debuglink, and the checksum after it. NULL: there is no such
 * section. */
static const char *find_link(Elf *elf, uint32_t *crc)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr h;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		Elf_Data *d = name && h.sh_type != SHT_NOBITS && !strcmp(name, ".gnu_debuglink")
				      ? elf_rawdata(scn, NULL)
				      : NULL;
		size_t n = d && d->d_buf ? strnlen(d->d_buf, d->d_size) : 0;

		/* The name is padded to a multiple of four bytes. */
		n = (n + 4) & ~(size_t)3;
		if (!d || n + sizeof(*crc) > d->d_size)
			continue;
		memcpy(crc, (const char *)d->d_buf + n, sizeof(*crc));
		return d->d_buf;
	}
	return NULL;
}

/* Opens an ELF file. Returns -1 if it isn't one. Refuses pipes and devices, because only files can
 * be mapped. */
static int open_elf(const char *path, Elf **elf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	elf_version(EV_CURRENT);
	*elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (*elf && elf_kind(*elf) == ELF_K_ELF)
		return fd;
	elf_end(*elf);
	*elf = NULL;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool has_dwarf(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;

		if (name && h.sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			return true;
	}
	return false;
}

static bool same_crc(int fd, uint32_t want)
{
	unsigned char piece[65536];
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, piece, sizeof(piece), at)) > 0; at += n)
		crc = crc32(crc, piece, (uInt)n);
	return n == 0 && (uint32_t)crc == want;
}

/* Opens and frees PATH. Returns -1 if PATH is not the wanted debug file. */
static int try_path(char *path, const struct wanted *w, bool linked)
{
	Elf *elf;
	int fd = open_elf(path, &elf);
	bool fits = fd >= 0 && has_dwarf(elf) &&
		    (w->id.size ? has_id(elf, &w->id) : linked && same_crc(fd, w->crc));

	elf_end(elf);
	free(path);
	if (fits || fd < 0)
		return fd;
	close(fd);
	return -1;
}

static int by_build_id(const struct wanted *w)
{
	char hex[2 * ID_MAX + 1];
	int fd = -1;

	if (w->id.size < 2)
		return -1;
	for (size_t i = 0; i < w->id.size; i++)
		snprintf(hex + 2 * i, 3, "%02x", w->id.bytes[i]);
	for (const char *const *root = w->roots; fd < 0 && *root; root++) {
		fd = try_path(ct_memory_printf("%s/.build-id/%.2s/%s.debug", *root, hex, hex + 2),
			      w, false);
		/* A directory given with --debug-dir may hold the files directly. */
		if (fd < 0)
			fd = try_path(ct_memory_printf("%s/%s.debug", *root, hex), w, false);
	}
	return fd;
}

static int by_link(const struct wanted *w)
{
	const char *slash = strrchr(w->path, '/');
	int n = slash ? (int)(slash - w->path) : 0, fd;

	if (!w->link || !slash || strchr(w->link, '/'))
		return -1;
	fd = try_path(ct_memory_printf("%.*s/.debug/%s", n, w->path, w->link), w, true);
	if (fd < 0)
		fd = try_path(ct_memory_printf("%.*s/%s", n, w->path, w->link), w, true);
	for (const char *const *root = w->roots; fd < 0 && *root; root++) {
		fd = try_path(ct_memory_printf("%s%.*s/%s", *root, n, w->path, w->link), w, true);
		if (fd < 0)
			fd = try_path(ct_memory_printf("%s/%s", *root, w->link), w, true);
	}
	return fd;
}

/* Uses elfutils' client library. It is loaded only if the user named servers, because it brings
 * libcurl with it. */
static int by_debuginfod(const struct wanted *w)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *library, *client;
	void *(*begin)(void);
	int (*find)(void *, const unsigned char *, int, char **);
	void (*end)(void *);
	int fd = -1;

	if (!urls || !*urls || !w->id.size)
		return -1;
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return -1;
	begin = (void *(*)(void))dlsym(library, "debuginfod_begin");
	find = (int (*)(void *, const unsigned char *, int, char **))dlsym(
		library, "debuginfod_find_debuginfo");
	end = (void (*)(void *))dlsym(library, "debuginfod_end");
	client = begin && find && end ? begin() : NULL;
	if (client) {
		fd = find(client, w->id.bytes, (int)w->id.size, NULL);
		end(client);
	}
	return fd < 0 ? -1 : fd;
}

static void read_segments(struct ct_dwarf_module *m, Elf *elf, bool whole)
{
	size_t count = 0;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &count) || !count || count > INT16_MAX)
		return;
	m->whole = whole;
	m->segments = ct_memory_alloc(count * sizeof(*m->segments));
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
			m->segments[m->segment_count++] =
				(struct ct_dwarf_segment){ p.p_offset, p.p_vaddr, p.p_filesz,
							   p.p_memsz, p.p_flags & PF_X };
}

static int find_packed(const struct wanted *w)
{
	int fd = by_build_id(w);

	if (fd < 0)
		fd = by_link(w);
	return fd < 0 ? by_debuginfod(w) : fd;
}

static int find_unpacked(const struct wanted *w)
{
	char *path = ct_dwarf_unpacked_path(w->id.bytes, w->id.size);

	return path ? try_path(path, w, false) : -1;
}

static int find_debug(const struct wanted *w)
{
	int unpacked = find_unpacked(w), fd;

	if (unpacked >= 0)
		return unpacked;
	fd = find_packed(w);
	if (fd >= 0 && ct_dwarf_unpacked_keep(w->id.bytes, w->id.size, fd))
		unpacked = find_unpacked(w);
	if (unpacked < 0)
		return fd;
	close(fd);
	return unpacked;
}

bool ct_dwarf_module_open(struct ct_dwarf_module *m, const char *path, const char *build_id,
			  const char *const *roots)
{
	struct wanted w = { .path = path, .id = id_of_hex(build_id), .roots = roots };
	Elf *elf, *debug;
	int fd = open_elf(path, &elf);
	uint32_t crc = 0;

	*m = (struct ct_dwarf_module){ .image = -1, .debug = -1 };
	/* The path now names another file. */
	if (elf && w.id.size && !has_id(elf, &w.id)) {
		elf_end(elf);
		elf = NULL;
	}
	if (elf) {
		read_segments(m, elf, true);
		w.link = find_link(elf, &crc);
		w.crc = crc;
		if (has_dwarf(elf))
			m->debug = dup(fd);
		m->image = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	if (m->debug < 0)
		m->debug = find_debug(&w);
	if (!elf && m->debug >= 0) {
		debug = elf_begin(m->debug, ELF_C_READ_MMAP, NULL);
		if (debug)
			read_segments(m, debug, false);
		elf_end(debug);
	}
	elf_end(elf);
	if ((m->image >= 0 || m->debug >= 0) && m->segment_count)
		return true;
	ct_dwarf_module_close(m);
	return false;
}

void ct_dwarf_module_close(struct ct_dwarf_module *m)
{
	free(m->segments);
	if (m->image >= 0)
		close(m->image);
	if (m->debug >= 0)
		close(m->debug);
	*m = (struct ct_dwarf_module){ .image = -1, .debug = -1 };
}

/* The segments of a debug file have no place in that file any more, but still have their addresses.
 * So the mapping of the only segment with code begins at that segment's first page. */
static bool linked_by_shape(const struct ct_dwarf_module *m, uint64_t address, uint64_t start,
			    uint64_t limit, uint64_t *to)
{
	const struct ct_dwarf_segment *code = NULL;
	uint64_t first, last;

	for (size_t i = 0; i < m->segment_count; i++) {
		if (!m->segments[i].code)
			continue;
		if (code)
			return false;
		code = &m->segments[i];
	}
	if (!code)
		return false;
	first = code->address & ~(uint64_t)(PAGE - 1);
	last = (code->address + code->memory_size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (last - first != limit - start)
		return false;
	*to = address - start + first;
	return true;
}

bool ct_dwarf_module_linked(const struct ct_dwarf_module *m, uint64_t address, uint64_t start,
			    uint64_t limit, uint64_t offset, uint64_t *to)
{
	uint64_t at = address - start + offset;

	if (address < start || address >= limit)
		return false;
	if (!m->whole)
		return linked_by_shape(m, address, start, limit, to);
	for (size_t i = 0; i < m->segment_count; i++) {
		const struct ct_dwarf_segment *s = &m->segments[i];

		if (at >= s->offset && at - s->offset < s->file_size) {
			*to = at - s->offset + s->address;
			return true;
		}
	}
	return false;
}
