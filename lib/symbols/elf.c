/* SPDX-License-Identifier: BSD-3-Clause */
/* A reader of 64-bit ELF that trusts nothing it reads; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

/* More program headers than any linker writes; limits the work. */
#define SEGMENTS_MAX 512
#define SECTIONS_MAX (1u << 20)
#define SECTION_NAME_MAX 32

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_DATA ELFDATA2LSB
#else
#define HOST_DATA ELFDATA2MSB
#endif

static bool within(uint64_t off, uint64_t n, uint64_t size)
{
	return n <= size && off <= size - n;
}

static int tell_trouble(int *trouble, int err)
{
	if (trouble && !*trouble)
		*trouble = err;
	return err;
}

static int read_file(const struct cp_elf_source *s, uint64_t off, char *to, size_t n)
{
	while (n) {
		long got = cp_sys_pread(s->fd, to, n, off);

		if (got == -EINTR)
			continue;
		if (got <= 0) /* 0: the file has shrunk since it was opened */
			return tell_trouble(s->trouble, got ? (int)got : -EIO);
		to += got;
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static int read_source(const struct cp_elf_source *s, uint64_t off, void *to, size_t n)
{
	long got;

	if (s->fd >= 0)
		return read_file(s, off, to, n);
	if (s->direct) {
		memcpy(to, (const void *)(uintptr_t)(s->base + off), n);
		return 0;
	}
	got = cp_sys_peek(to, s->base + off, n);
	return got < 0 ? (int)got : 0;
}

int cp_elf_read(const struct cp_elf *e, uint64_t off, void *to, size_t n)
{
	if (!within(off, n, e->src.size))
		return -EIO;
	if (within(off, n, e->head_size)) {
		memcpy(to, e->head + off, n);
		return 0;
	}
	return read_source(&e->src, off, to, n);
}

/* Unreadable bytes are not an error yet, because they may not be needed; a later read reports them.
 */
static void read_head(struct cp_elf *e)
{
	uint32_t n = e->src.size < CP_ELF_HEAD ? (uint32_t)e->src.size : CP_ELF_HEAD;
	struct cp_elf_source quiet = e->src;

	quiet.trouble = NULL;
	e->head_size = read_source(&quiet, 0, e->head, n) ? 0 : n;
}

long cp_elf_read_string(const struct cp_elf *e, uint64_t off, uint64_t end, char *to, size_t room)
{
	size_t len = 0;

	if (end > e->src.size)
		end = e->src.size;
	if (off >= end || !room)
		return -EIO;
	/* Most names are short, so little is read at first. One in ten mangled names has more than
	 * 128 bytes. */
	for (size_t piece = 256; len < room - 1 && off < end; piece = 4096) {
		const char *nul;
		int r;

		if (piece > room - 1 - len)
			piece = room - 1 - len;
		if (piece > end - off)
			piece = (size_t)(end - off);
		r = cp_elf_read(e, off, to + len, piece);
		if (r)
			return r;
		nul = memchr(to + len, 0, piece);
		if (nul)
			return nul - to;
		len += piece;
		off += piece;
	}
	to[len] = '\0';
	return (long)len;
}

int cp_elf_segment(const struct cp_elf *e, unsigned index, Elf64_Phdr *p)
{
	if (index >= e->phnum)
		return -ENOENT;
	return cp_elf_read(e, e->phoff + index * sizeof(*p), p, sizeof(*p));
}

static void add_load(struct cp_elf *e, const Elf64_Phdr *p)
{
	uint64_t end;

	if (e->nloads == CP_ELF_LOADS || __builtin_add_overflow(p->p_vaddr, p->p_memsz, &end) ||
	    __builtin_add_overflow(p->p_offset, p->p_filesz, &end))
		return;
	if (!e->nloads)
		e->base_vaddr = p->p_vaddr - p->p_offset;
	e->loads[e->nloads++] = (struct cp_elf_load){
		.vaddr = p->p_vaddr,
		.memsz = p->p_memsz,
		.offset = p->p_offset,
		.filesz = p->p_filesz,
		.code = p->p_flags & PF_X,
	};
}

static int read_loads(struct cp_elf *e)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < e->phnum; i++) {
		int r = cp_elf_segment(e, i, &p);

		if (r)
			return r;
		if (p.p_type == PT_LOAD)
			add_load(e, &p);
	}
	return 0;
}

static bool add_code(struct cp_elf *e, uint64_t start, uint64_t size)
{
	uint64_t end;

	if (!size || __builtin_add_overflow(start, size, &end))
		return true;
	if (e->ncode == CP_ELF_CODE)
		return false;
	e->code[e->ncode++] = (struct cp_elf_range){ start, end };
	return true;
}

static void find_code(struct cp_elf *e)
{
	struct cp_elf_sections s = { .e = e };
	Elf64_Shdr h;
	bool all = true;

	while (all && cp_elf_next_section(&s, &h))
		if ((h.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
			all = add_code(e, h.sh_addr, h.sh_size);
	if (all && e->ncode)
		return;
	e->ncode = 0;
	for (unsigned i = 0; i < e->nloads; i++)
		if (e->loads[i].code)
			add_code(e, e->loads[i].vaddr, e->loads[i].memsz);
}

static int read_section_header(const struct cp_elf *e, uint64_t i, Elf64_Shdr *h, size_t n)
{
	return cp_elf_read(e, e->shoff + i * sizeof(*h), h, n * sizeof(*h));
}

/* Section headers are optional: a file whose table is cut off counts as having none. */
static void find_sections(struct cp_elf *e, const Elf64_Ehdr *h)
{
	uint64_t names = h->e_shstrndx, room;
	Elf64_Shdr first, strings;

	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff >= e->src.size)
		return;
	e->shoff = h->e_shoff;
	if (read_section_header(e, 0, &first, 1))
		return;
	room = (e->src.size - e->shoff) / sizeof(Elf64_Shdr);
	e->shnum = h->e_shnum ? h->e_shnum : first.sh_size;
	if (e->shnum > room)
		e->shnum = room;
	if (e->shnum > SECTIONS_MAX)
		e->shnum = SECTIONS_MAX;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (names >= e->shnum || read_section_header(e, names, &strings, 1) ||
	    !within(strings.sh_offset, strings.sh_size, e->src.size))
		return;
	e->names_off = strings.sh_offset;
	e->names_size = strings.sh_size;
}

static int read_headers(struct cp_elf *e)
{
	Elf64_Ehdr h;
	int r;

	if (e->src.size < sizeof(h))
		return -ENOEXEC;
	read_head(e);
	r = cp_elf_read(e, 0, &h, sizeof(h));
	if (r)
		return r;
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != HOST_DATA)
		return -ENOEXEC;
	e->phoff = h.e_phoff;
	e->phnum = h.e_phentsize != sizeof(Elf64_Phdr) ? 0
		   : h.e_phnum > SEGMENTS_MAX	       ? SEGMENTS_MAX
						       : h.e_phnum;
	if (!within(e->phoff, e->phnum * sizeof(Elf64_Phdr), e->src.size))
		return -ENOEXEC;
	r = read_loads(e);
	if (r)
		return r;
	if (!e->image) /* the loader does not map section headers */
		find_sections(e, &h);
	find_code(e);
	return 0;
}

/* Does the error ERR of an open mean that there is no such file? */
static bool is_absence(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ELOOP || err == -ENAMETOOLONG ||
	       err == -ENXIO || err == -ENODEV;
}

int cp_elf_open_watched(struct cp_elf *e, const char *path, int *trouble)
{
	struct stat st;
	int r;
	/* O_NONBLOCK: the file that replaced the module may be a FIFO. */
	int fd = cp_sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0)
		return is_absence(fd) ? fd : tell_trouble(trouble, fd);
	r = (int)cp_sys2(SYS_fstat, fd, &st);
	if (r)
		tell_trouble(trouble, r);
	else if (!S_ISREG(st.st_mode))
		r = -EINVAL;
	if (!r) {
		*e = (struct cp_elf){
			.src = { .fd = fd, .trouble = trouble, .size = (uint64_t)st.st_size }
		};
		r = read_headers(e);
	}
	if (r)
		cp_sys_close(fd);
	return r;
}

int cp_elf_open(struct cp_elf *e, const char *path)
{
	return cp_elf_open_watched(e, path, NULL);
}

int cp_elf_open_image(struct cp_elf *e, uint64_t address, uint64_t size, bool direct)
{
	uint64_t end;

	if (!address || __builtin_add_overflow(address, size, &end))
		return -EFAULT;
	*e = (struct cp_elf){
		.src = { .fd = -1, .direct = direct, .base = address, .size = size },
		.image = true,
	};
	return read_headers(e);
}

int cp_elf_open_bytes(struct cp_elf *e, const void *bytes, size_t size)
{
	*e = (struct cp_elf){
		.src = { .fd = -1, .direct = true, .base = (uintptr_t)bytes, .size = size },
	};
	return read_headers(e);
}

void cp_elf_close(struct cp_elf *e)
{
	if (e->src.fd >= 0)
		cp_sys_close(e->src.fd);
	e->src.fd = -1;
	e->src.size = e->head_size = 0;
}

int cp_elf_locate(const struct cp_elf *e, uint64_t vaddr, uint64_t n, uint64_t *off)
{
	if (e->image) {
		if (!within(vaddr - e->base_vaddr, n, e->src.size))
			return -ENOENT;
		*off = vaddr - e->base_vaddr;
		return 0;
	}
	for (unsigned i = 0; i < e->nloads; i++) {
		const struct cp_elf_load *l = &e->loads[i];

		if (vaddr >= l->vaddr && within(vaddr - l->vaddr, n, l->filesz)) {
			*off = vaddr - l->vaddr + l->offset;
			return 0;
		}
	}
	return -ENOENT;
}

int cp_elf_vaddr_of(const struct cp_elf *e, uint64_t file_offset, uint64_t *vaddr)
{
	const struct cp_elf_load *found = NULL;

	/* A page shared by two segments is mapped twice; the caller asks for the code segment. */
	for (unsigned i = 0; i < e->nloads; i++) {
		const struct cp_elf_load *l = &e->loads[i];

		if (file_offset >= l->offset && file_offset - l->offset < l->filesz &&
		    (!found || (l->code && !found->code)))
			found = l;
	}
	if (!found)
		return -ENOENT;
	*vaddr = file_offset - found->offset + found->vaddr;
	return 0;
}

int cp_elf_offset_of(const struct cp_elf *e, uint64_t vaddr, uint64_t *file_offset)
{
	for (unsigned i = 0; i < e->nloads; i++) {
		const struct cp_elf_load *l = &e->loads[i];

		if (vaddr >= l->vaddr && vaddr - l->vaddr < l->filesz) {
			*file_offset = vaddr - l->vaddr + l->offset;
			return 0;
		}
	}
	return -ENOENT;
}

const struct cp_elf_range *cp_elf_code_at(const struct cp_elf *e, uint64_t vaddr)
{
	for (unsigned i = 0; i < e->ncode; i++)
		if (vaddr >= e->code[i].start && vaddr < e->code[i].end)
			return &e->code[i];
	return NULL;
}

bool cp_elf_next_section(struct cp_elf_sections *s, Elf64_Shdr *h)
{
	for (;;) {
		if (s->at == s->have) {
			uint64_t left = s->e->shnum - s->next;

			s->at = 0;
			s->have = left < 16 ? (unsigned)left : 16;
			if (!left || read_section_header(s->e, s->next, s->chunk, s->have)) {
				s->have = 0;
				return false;
			}
			s->next += s->have;
		}
		*h = s->chunk[s->at++];
		if (h->sh_type == SHT_NOBITS ||
		    (h->sh_type && within(h->sh_offset, h->sh_size, s->e->src.size)))
			return true;
	}
}

bool cp_elf_section_is(const struct cp_elf *e, const Elf64_Shdr *h, const char *name)
{
	char got[SECTION_NAME_MAX];

	return cp_elf_read_string(e, e->names_off + h->sh_name, e->names_off + e->names_size, got,
				  sizeof(got)) >= 0 &&
	       !strcmp(got, name);
}

int cp_elf_find_section(const struct cp_elf *e, uint32_t type, const char *name, Elf64_Shdr *h)
{
	struct cp_elf_sections s = { .e = e };
	Elf64_Shdr at;

	while (cp_elf_next_section(&s, &at))
		if (at.sh_type == type && (!name || cp_elf_section_is(e, &at, name))) {
			*h = at;
			return 0;
		}
	return -ENOENT;
}

int cp_elf_find_symtab(const struct cp_elf *e, uint32_t type, struct cp_elf_symtab *t)
{
	Elf64_Shdr table, strings;

	if (cp_elf_find_section(e, type, NULL, &table) || table.sh_entsize != sizeof(Elf64_Sym) ||
	    (table.sh_flags & SHF_COMPRESSED) || table.sh_link >= e->shnum ||
	    read_section_header(e, table.sh_link, &strings, 1) || strings.sh_type != SHT_STRTAB ||
	    !within(strings.sh_offset, strings.sh_size, e->src.size))
		return -ENOENT;
	*t = (struct cp_elf_symtab){
		.off = table.sh_offset,
		.count = table.sh_size / sizeof(Elf64_Sym),
		.names_off = strings.sh_offset,
		.names_size = strings.sh_size,
	};
	return t->count ? 0 : -ENOENT;
}
