/* SPDX-License-Identifier: BSD-3-Clause */
/* A module and its debug information; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "core/model.h"

#define PAGE 4096u

/* The module whose debug information is wanted. */
struct wanted {
	const char *path;
	struct ct_dwarf_id id;
	const char *link; /* the name in .gnu_debuglink, in the module's file */
	uint32_t crc;
	const char *const *roots;
	char **denied;
};

/* Opens an ELF file and notes the first one that may not be read. */
static int open_wanted(const char *path, const struct wanted *w, Elf **elf)
{
	int fd;

	errno = 0;
	fd = ct_dwarf_elf_open(path, elf);
	if (fd < 0 && errno == EACCES && !*w->denied)
		*w->denied = ct_memory_strdup(path);
	return fd;
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

/* Frees PATH and ELF. Returns FD if the file FITS; otherwise closes it and returns -1. */
static int kept(char *path, Elf *elf, int fd, bool fits)
{
	elf_end(elf);
	free(path);
	if (fits || fd < 0)
		return fd;
	close(fd);
	return -1;
}

/* Opens and frees PATH. Returns -1 if PATH is not the wanted debug file. */
static int try_path(char *path, const struct wanted *w, bool linked)
{
	Elf *elf;
	int fd = open_wanted(path, w, &elf);
	bool fits =
		fd >= 0 && ct_dwarf_elf_has_dwarf(elf) &&
		(w->id.size ? ct_dwarf_elf_has_id(elf, &w->id) : linked && same_crc(fd, w->crc));

	return kept(path, elf, fd, fits);
}

static int by_build_id(const struct wanted *w)
{
	char hex[2 * CT_DWARF_ID_MAX + 1];
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

/* Calls TRY for the files that a directory of the user's may hold for the module: DIR/app and
 * DIR/usr/bin/app for /usr/bin/app, each also with ".debug" after it. Returns the first descriptor.
 */
static int by_name(const struct wanted *w, int (*try)(char *path, const struct wanted *w, bool))
{
	const char *slash = strrchr(w->path, '/');
	int fd = -1;

	if (!slash || !w->id.size)
		return -1;
	for (const char *const *root = w->roots; fd < 0 && *root; root++) {
		const char *const names[] = { slash, w->path };

		for (int i = 0; fd < 0 && i < 2; i++) {
			fd = try(ct_memory_printf("%s%s", *root, names[i]), w, false);
			if (fd < 0)
				fd = try(ct_memory_printf("%s%s.debug", *root, names[i]), w, false);
		}
	}
	return fd;
}

/* Opens and frees PATH. Returns -1 if PATH is not the wanted module itself. */
static int try_image(char *path, const struct wanted *w, bool linked)
{
	Elf *elf;
	int fd = open_wanted(path, w, &elf);
	bool fits = fd >= 0 && ct_dwarf_elf_has_code(elf) && ct_dwarf_elf_has_id(elf, &w->id);

	(void)linked;
	return kept(path, elf, fd, fits);
}

/* Uses elfutils' client library. It is loaded only if the user named servers, because it brings
 * libcurl with it. */
static int by_debuginfod(const struct wanted *w)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *(*begin)(void);
	int (*find)(void *, const unsigned char *, int, char **);
	void (*end)(void *);
	const struct ct_library_function functions[] = { { "debuginfod_begin", &begin },
							 { "debuginfod_find_debuginfo", &find },
							 { "debuginfod_end", &end } };
	void *client;
	int fd = -1;

	if (!urls || !*urls || !w->id.size)
		return -1;
	if (!ct_library_load("libdebuginfod.so.1", functions,
			     sizeof(functions) / sizeof(*functions)))
		return -1;
	client = begin();
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

#define OWN_ROOTS 8

/* Looks where the system or the user keeps debug files, but not in a container's file system. */
static int by_build_id_here(const struct wanted *w)
{
	const char *roots[OWN_ROOTS + 1] = { NULL };
	struct wanted here = *w;
	int n = 0;

	for (const char *const *root = w->roots; *root && n < OWN_ROOTS; root++)
		if (strncmp(*root, "/proc/", 6))
			roots[n++] = *root;
	here.roots = roots;
	return by_build_id(&here);
}

/* *KEEP: a copy may be kept for all modules with the same build id. A file beside the module, or in
 * a container, may have taken the build id of another's. */
static int find_packed(const struct wanted *w, bool *keep)
{
	int fd = by_build_id_here(w);

	*keep = fd >= 0;
	if (fd < 0)
		fd = by_build_id(w);
	if (fd < 0)
		fd = by_link(w);
	if (fd < 0)
		fd = by_name(w, try_path);
	if (fd >= 0)
		return fd;
	*keep = true;
	return by_debuginfod(w);
}

static int find_unpacked(const struct wanted *w)
{
	char *path = ct_dwarf_unpacked_path(w->id.bytes, w->id.size);

	return path ? try_path(path, w, false) : -1;
}

static int find_debug(const struct wanted *w)
{
	int unpacked = find_unpacked(w), fd;
	bool keep;

	if (unpacked >= 0)
		return unpacked;
	fd = find_packed(w, &keep);
	if (fd >= 0 && keep && ct_dwarf_unpacked_keep(w->id.bytes, w->id.size, fd))
		unpacked = find_unpacked(w);
	if (unpacked < 0)
		return fd;
	close(fd);
	return unpacked;
}

/* Returns the descriptor of the module itself, at its path or in a directory of the user's, or -1.
 */
static int find_image(struct ct_dwarf_module *m, const struct wanted *w, Elf **elf)
{
	int fd = open_wanted(w->path, w, elf);

	m->there = fd >= 0;
	if (*elf && (!w->id.size || ct_dwarf_elf_has_id(*elf, &w->id)))
		return fd;
	/* The path now names another file, or none. */
	elf_end(*elf);
	if (fd >= 0)
		close(fd);
	fd = by_name(w, try_image);
	*elf = fd < 0 ? NULL : ct_dwarf_elf_begin(fd);
	if (fd >= 0 && !*elf) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void close_files(struct ct_dwarf_module *m)
{
	free(m->segments);
	if (m->image >= 0)
		close(m->image);
	if (m->debug >= 0)
		close(m->debug);
	*m = (struct ct_dwarf_module){
		.image = -1, .debug = -1, .there = m->there, .denied = m->denied
	};
}

void ct_dwarf_module_file_addresses(struct ct_profile *p)
{
	for (uint32_t i = 0; i < p->mapping_count; i++) {
		struct ct_mapping *m = &p->mappings[i];
		const char *path = ct_text(p, m->file), *const no_roots[] = { NULL };
		struct ct_dwarf_module module = { .debug = -1 };
		struct wanted w = { path,     ct_dwarf_elf_id(ct_text(p, m->build_id)),
				    NULL,     0,
				    no_roots, &module.denied };
		uint64_t moved = 0, at;
		Elf *elf = NULL;

		module.image = *path == '/' ? find_image(&module, &w, &elf) : -1;
		if (elf)
			read_segments(&module, elf, true);
		elf_end(elf);
		for (size_t k = 0; k < p->location_count; k++) {
			struct ct_location *l = &p->locations[k];

			if (l->mapping == i && ct_dwarf_module_linked(&module, l->address, m->start,
								      m->limit, m->offset, &at)) {
				moved = at - l->address;
				l->address = at;
			}
		}
		ct_dwarf_module_close(&module);
		if (!moved)
			continue;
		m->start = m->offset = m->start + moved;
		m->limit += moved;
	}
}

bool ct_dwarf_module_open(struct ct_dwarf_module *m, const char *path, const char *build_id,
			  const char *const *roots)
{
	struct wanted w = { path, ct_dwarf_elf_id(build_id), NULL, 0, roots, &m->denied };
	Elf *elf, *debug;
	uint32_t crc = 0;

	*m = (struct ct_dwarf_module){ .debug = -1 };
	m->image = find_image(m, &w, &elf);
	if (elf) {
		read_segments(m, elf, true);
		w.link = ct_dwarf_elf_link(elf, &crc);
		w.crc = crc;
		if (ct_dwarf_elf_has_dwarf(elf))
			m->debug = dup(m->image);
	}
	if (m->debug < 0)
		m->debug = find_debug(&w);
	if (!elf && m->debug >= 0) {
		debug = ct_dwarf_elf_begin(m->debug);
		if (debug)
			read_segments(m, debug, false);
		elf_end(debug);
	}
	elf_end(elf);
	if ((m->image >= 0 || m->debug >= 0) && m->segment_count)
		return true;
	close_files(m);
	return false;
}

void ct_dwarf_module_close(struct ct_dwarf_module *m)
{
	close_files(m);
	free(m->denied);
	m->denied = NULL;
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
