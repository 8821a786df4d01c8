/* SPDX-License-Identifier: BSD-3-Clause */
/* A module's separate debug file; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>

#include "base/sys.h"
#include "base/text.h"

#define ROOT "/usr/lib/debug"
#define PATH_ROOM 4096
#define LINK_MAX 256
#define CRC_PIECE 16384

struct debuglink {
	char name[LINK_MAX];
	uint32_t crc;
};

static bool has_symbols(const struct cp_elf *e)
{
	struct cp_elf_symtab t;

	return !cp_elf_find_symtab(e, SHT_SYMTAB, &t);
}

static bool same_build_id(const struct cp_elf *e, const struct cp_debugfile_query *q)
{
	uint8_t id[CP_BUILD_ID_MAX];

	return q->build_id_size && q->build_id_size <= sizeof(id) &&
	       cp_buildid_of_elf(e, id, sizeof(id)) == (int)q->build_id_size &&
	       !memcmp(id, q->build_id, q->build_id_size);
}

/* The CRC-32 of zlib and of objcopy --add-gnu-debuglink. */
static void make_crc_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		table[i] = c;
	}
}

static bool same_crc(const struct cp_elf *e, uint32_t want)
{
	uint8_t piece[CRC_PIECE];
	uint32_t table[256], crc = ~0u;
	uint64_t off, n;

	make_crc_table(table);
	for (off = 0; off < e->src.size; off += n) {
		n = e->src.size - off < CRC_PIECE ? e->src.size - off : CRC_PIECE;
		if (cp_elf_read(e, off, piece, n))
			return false;
		for (uint64_t i = 0; i < n; i++)
			crc = table[(crc ^ piece[i]) & 0xff] ^ crc >> 8;
	}
	return ~crc == want;
}

/* Check for symbols first: that is cheap, and rejects the module itself. LINK NULL: only the build
 * id can prove the match. For a module with a build id, nothing less is accepted. */
static int try(struct cp_elf *e, const char *path, const struct cp_debugfile_query *q,
	       const struct debuglink *link)
{
	int r = cp_elf_open_watched(e, path, q->trouble);

	if (r)
		return -ENOENT;
	if (has_symbols(e) &&
	    (q->build_id_size ? same_build_id(e, q) : link && same_crc(e, link->crc)))
		return 0;
	cp_elf_close(e);
	return -ENOENT;
}

static int by_build_id(struct cp_elf *e, const struct cp_debugfile_query *q)
{
	char path[PATH_ROOM];
	size_t n;

	if (q->build_id_size < 2)
		return -ENOENT;
	n = cp_text_format(path, sizeof(path), "%s/.build-id/%02x/", q->root ? q->root : ROOT,
			   q->build_id[0]);
	for (size_t i = 1; i < q->build_id_size; i++)
		n += cp_text_format(path + n, sizeof(path) - n, "%02x", q->build_id[i]);
	cp_text_format(path + n, sizeof(path) - n, ".debug");
	return try(e, path, q, NULL);
}

/* Section .gnu_debuglink: a file name, padding to 4 bytes, the file's CRC. */
static int read_link(const struct cp_elf *e, struct debuglink *l)
{
	Elf64_Shdr h;
	uint64_t crc_at;
	long n;

	if (cp_elf_find_section(e, SHT_PROGBITS, ".gnu_debuglink", &h))
		return -ENOENT;
	n = cp_elf_read_string(e, h.sh_offset, h.sh_offset + h.sh_size, l->name, sizeof(l->name));
	if (n <= 0 || n == LINK_MAX - 1 || strchr(l->name, '/'))
		return -ENOENT;
	crc_at = ((uint64_t)n + 4) & ~UINT64_C(3);
	if (crc_at + 4 > h.sh_size)
		return -ENOENT;
	return cp_elf_read(e, h.sh_offset + crc_at, &l->crc, sizeof(l->crc));
}

static int by_link(struct cp_elf *e, const struct cp_debugfile_query *q)
{
	const char *slash = strrchr(q->path, '/');
	const char *const below[] = { "", "/.debug", "" };
	char path[PATH_ROOM];
	struct debuglink link;
	int dir;

	if (!slash || !q->module || read_link(q->module, &link))
		return -ENOENT;
	dir = (int)(slash - q->path);
	for (int i = 0; i < 3; i++) {
		const char *root = i < 2 ? "" : q->root ? q->root : ROOT;
		size_t n = cp_text_format(path, sizeof(path), "%s%.*s%s/%s", root, dir, q->path,
					  below[i], link.name);

		if (n < sizeof(path) - 1 && !try(e, path, q, &link))
			return 0;
	}
	return -ENOENT;
}

int cp_debugfile_open(struct cp_elf *e, const struct cp_debugfile_query *q)
{
	return by_build_id(e, q) ? by_link(e, q) : 0;
}
