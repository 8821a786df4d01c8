/* SPDX-License-Identifier: BSD-3-Clause */
/* Names from symbol tables; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <stdlib.h>

#include "core/core.h"

/* Of two names for the same code, the one with fewer leading underscores is better, because a
 * programmer wrote it: "memcpy", not "__memcpy_alias". */
static int underscores(const char *name)
{
	return (int)strspn(name, "_");
}

static void offer(struct ct_dwarf_symbol_query *q, const char *name, const GElf_Sym *s)
{
	if (q->name && underscores(q->name) <= underscores(name))
		return;
	q->begin = s->st_value;
	q->end = s->st_value + s->st_size;
	free(q->name);
	q->name = ct_memory_strdup(name);
	q->name[strcspn(q->name, "@")] = '\0';
}

static bool is_function(const GElf_Sym *s)
{
	return s->st_shndx != SHN_UNDEF && s->st_size &&
	       (GELF_ST_TYPE(s->st_info) == STT_FUNC || GELF_ST_TYPE(s->st_info) == STT_GNU_IFUNC);
}

/* The pages of 4 KiB that contain an address of a query, as bits; pages 256 MiB apart share a bit.
 * One look tells that a symbol is elsewhere, as nearly all symbols of a large table are. */
#define PAGE_BITS 12
#define PAGES 65536u
struct pages {
	uint64_t bits[PAGES / 64];
};

static void mark_pages(struct pages *p, const struct ct_dwarf_symbol_query *q, size_t n)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < n; i++) {
		uint64_t page = (q[i].address >> PAGE_BITS) % PAGES;

		p->bits[page / 64] |= UINT64_C(1) << page % 64;
	}
}

static bool is_marked(const struct pages *p, uint64_t page)
{
	page %= PAGES;
	return p->bits[page / 64] >> page % 64 & 1;
}

static bool may_have(const struct pages *p, const GElf_Sym *s)
{
	uint64_t first = s->st_value >> PAGE_BITS;
	uint64_t last = (s->st_value + s->st_size - 1) >> PAGE_BITS;

	return is_marked(p, first) || is_marked(p, last) || last - first > 1;
}

static void take_symbols(Elf *elf, Elf_Data *data, const GElf_Shdr *h,
			 struct ct_dwarf_symbol_query *q, size_t n, const char *had)
{
	static struct pages pages;
	size_t count = h->sh_entsize ? data->d_size / h->sh_entsize : 0;
	/* In 64-bit files a symbol is read in place, which takes a third of gelf_getsym's time. */
	const GElf_Sym *symbols =
		gelf_getclass(elf) == ELFCLASS64 && h->sh_entsize == sizeof(*symbols) ? data->d_buf
										      : NULL;

	mark_pages(&pages, q, n);
	ct_dwarf_elf_will_read(data->d_buf, data->d_size);
	for (size_t i = 0; i < count; i++) {
		const GElf_Sym *s = symbols + i;
		GElf_Sym copy;

		if (!symbols)
			s = gelf_getsym(data, (int)i, &copy);
		if (!s || !is_function(s) || !may_have(&pages, s))
			continue;
		for (size_t k = ct_dw_first(q, n, sizeof(*q), s->st_value);
		     k < n && q[k].address - s->st_value < s->st_size; k++) {
			const char *name = had[k] ? NULL : elf_strptr(elf, h->sh_link, s->st_name);

			if (name && *name)
				offer(&q[k], name, s);
		}
	}
}

static bool any_unnamed(const struct ct_dwarf_symbol_query *q, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!q[i].name)
			return true;
	return false;
}

static void take_tables(Elf *elf, GElf_Word type, struct ct_dwarf_symbol_query *q, size_t n)
{
	char *had = ct_memory_alloc(n + 1);
	Elf_Scn *scn = NULL;

	for (size_t i = 0; i < n; i++)
		had[i] = q[i].name != NULL;
	while (any_unnamed(q, n) && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &h) || h.sh_type != type)
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			take_symbols(elf, data, &h, q, n, had);
	}
	free(had);
}

/* MiniDebugInfo: Fedora, RHEL and their relatives strip their files, but keep the names of local
 * functions in a section .gnu_debugdata, an ELF file that xz has packed. "MiniDebugInfo" in GDB's
 * manual describes it. */

/* The largest programs have a few megabytes of symbols. */
#define UNPACKED_MAX (UINT64_C(64) << 20)
#define DECODER_MAX (UINT64_C(128) << 20)
/* values of lzma_ret in lzma.h */
#define LZMA_OK 0
#define LZMA_BUF_ERROR 10

/* type of lzma_stream_buffer_decode */
typedef int decode_function(uint64_t *limit, uint32_t flags, const void *allocator,
			    const uint8_t *in, size_t *in_at, size_t in_size, uint8_t *out,
			    size_t *out_at, size_t out_size);

/* Loads the library at the first use, because most systems' files have no such section. */
static decode_function *load_lzma(void)
{
	static decode_function *decode;
	static bool tried;

	if (!tried) {
		tried = true;
		ct_library_load(
			"liblzma.so.5",
			&(struct ct_library_function){ "lzma_stream_buffer_decode", &decode }, 1);
	}
	return decode;
}

/* Returns the unpacked bytes and their number, or NULL. Their number isn't known from the packed
 * size. */
static void *unpack_xz(const Elf_Data *packed, size_t *size)
{
	decode_function *decode = load_lzma();

	for (uint64_t room = (uint64_t)packed->d_size * 8; decode && room <= UNPACKED_MAX;
	     room *= 2) {
		uint64_t limit = DECODER_MAX;
		size_t in = 0, out = 0;
		void *memory = ct_memory_alloc(room);
		int result = decode(&limit, 0, NULL, packed->d_buf, &in, packed->d_size, memory,
				    &out, room);

		if (result == LZMA_OK) {
			*size = out;
			return memory;
		}
		free(memory);
		if (result != LZMA_BUF_ERROR)
			break;
	}
	return NULL;
}

/* Returns the file inside the file FILE, or NULL if FILE has none, if it can't be unpacked, or if
 * liblzma.so.5 can't be loaded. *MEMORY: the file's bytes. Call elf_end with the result, then free
 * *MEMORY. */
static Elf *dwarf_minidebug_open(Elf *file, void **memory)
{
	const Elf_Data *packed = ct_dwarf_elf_section(file, ".gnu_debugdata");
	size_t size = 0;
	Elf *inside;

	*memory = packed ? unpack_xz(packed, &size) : NULL;
	inside = *memory ? elf_memory(*memory, size) : NULL;
	if (inside && elf_kind(inside) == ELF_K_ELF)
		return inside;
	elf_end(inside);
	free(*memory);
	*memory = NULL;
	return NULL;
}

/* The table inside has the functions that the dynamic table lacks. */
static void take_minidebug(Elf *elf, struct ct_dwarf_symbol_query *q, size_t n)
{
	void *memory;
	Elf *inside = any_unnamed(q, n) ? dwarf_minidebug_open(elf, &memory) : NULL;

	if (!inside)
		return;
	take_tables(inside, SHT_SYMTAB, q, n);
	elf_end(inside);
	free(memory);
}

void ct_dwarf_symbols_find(int fd, struct ct_dwarf_symbol_query *q, size_t n)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = n ? ct_dwarf_elf_begin(fd) : NULL;
	if (!elf)
		return;
	take_tables(elf, SHT_SYMTAB, q, n);
	take_tables(elf, SHT_DYNSYM, q, n);
	take_minidebug(elf, q, n);
	elf_end(elf);
}

/* ---- local symbols of one name ---- */

struct local {
	const char *name;
	uint64_t address;
};

static int by_name(const void *x, const void *y)
{
	const struct local *a = x, *b = y;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->address > b->address) - (a->address < b->address);
}

/* Returns the local symbols of ELF's symbol table by name and address, as memory to free. */
static struct local *sorted_locals(Elf *elf, size_t *count)
{
	struct local *locals = NULL;
	size_t room = 0;
	Elf_Scn *scn = NULL;

	*count = 0;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		Elf_Data *data;
		GElf_Sym s;

		if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &s); i++) {
			const char *name = elf_strptr(elf, h.sh_link, s.st_name);

			if (GELF_ST_BIND(s.st_info) == STB_LOCAL && name && *name &&
			    s.st_shndx != SHN_UNDEF && s.st_shndx != SHN_ABS)
				*CT_PUSH(locals, *count, room) = (struct local){ name, s.st_value };
		}
	}
	if (*count)
		qsort(locals, *count, sizeof(*locals), by_name);
	return locals;
}

void ct_dwarf_symbols_number(int fd, struct ct_dwarf_symbol_query *q, size_t n)
{
	Elf *elf = ct_dwarf_elf_begin(fd);
	struct local *locals;
	size_t count;

	if (!elf)
		return;
	locals = sorted_locals(elf, &count);
	for (size_t i = 0; i < n; i++) {
		struct local key = { q[i].name, q[i].begin };
		const struct local *at =
			q[i].name && count ? bsearch(&key, locals, count, sizeof(key), by_name)
					   : NULL;

		if (!at)
			continue;
		for (q[i].number = 1; at > locals && !strcmp(at[-1].name, key.name); at--)
			q[i].number++;
	}
	free(locals);
	elf_end(elf);
}
