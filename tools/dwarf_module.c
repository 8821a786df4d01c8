/* A module and its debug information; see dwarf_module.h. */
#include "dwarf_module.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "memory.h"

#define ID_MAX 64
#define PAGE 4096u

struct id {
	uint8_t bytes[ID_MAX];
	size_t size; /* 0 = none */
};

/* What is being looked for. */
struct wanted {
	const char *path;
	struct id id;
	const char *link; /* debuglink's name, in the module's file */
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

static bool has_id(Elf *elf, const struct id *id)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);

	return n == (ssize_t)id->size && !memcmp(bytes, id->bytes, id->size);
}

/* Opens an ELF file; -1 where it isn't one. Not a pipe or a device: only files can be mapped. */
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

/* PATH, which is freed, when it is the debug file that is wanted. */
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
		fd = try_path(ct_printf("%s/.build-id/%.2s/%s.debug", *root, hex, hex + 2), w,
			      false);
		/* A directory given with --debug-dir may hold the files just so. */
		if (fd < 0)
			fd = try_path(ct_printf("%s/%s.debug", *root, hex), w, false);
	}
	return fd;
}

static int by_link(const struct wanted *w)
{
	const char *slash = strrchr(w->path, '/');
	int n = slash ? (int)(slash - w->path) : 0, fd;

	if (!w->link || !slash || strchr(w->link, '/'))
		return -1;
	fd = try_path(ct_printf("%.*s/.debug/%s", n, w->path, w->link), w, true);
	if (fd < 0)
		fd = try_path(ct_printf("%.*s/%s", n, w->path, w->link), w, true);
	for (const char *const *root = w->roots; fd < 0 && *root; root++) {
		fd = try_path(ct_printf("%s%.*s/%s", *root, n, w->path, w->link), w, true);
		if (fd < 0)
			fd = try_path(ct_printf("%s/%s", *root, w->link), w, true);
	}
	return fd;
}

/* elfutils' client, loaded only where the user named servers: it brings libcurl with it. */
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
	m->segments = ct_alloc(count * sizeof(*m->segments));
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
			m->segments[m->segment_count++] =
				(struct ct_dwarf_segment){ p.p_offset, p.p_vaddr, p.p_filesz,
							   p.p_memsz, p.p_flags & PF_X };
}

static int find_debug(const struct wanted *w)
{
	int fd = by_build_id(w);

	if (fd < 0)
		fd = by_link(w);
	return fd < 0 ? by_debuginfod(w) : fd;
}

bool ct_dwarf_module_open(struct ct_dwarf_module *m, const char *path, const char *build_id,
			  const char *const *roots)
{
	struct wanted w = { .path = path, .id = id_of_hex(build_id), .roots = roots };
	Elf *elf, *debug;
	int fd = open_elf(path, &elf);
	GElf_Word crc = 0;

	*m = (struct ct_dwarf_module){ .image = -1, .debug = -1 };
	/* Another file has the name by now. */
	if (elf && w.id.size && !has_id(elf, &w.id)) {
		elf_end(elf);
		elf = NULL;
	}
	if (elf) {
		read_segments(m, elf, true);
		w.link = dwelf_elf_gnu_debuglink(elf, &crc);
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

/* A debug file's segments have lost their place in the file, but not their addresses: the mapping
 * of the only one with code begins at its first page. */
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
