/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for PLT stubs; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#define STUBS_MAX 64 /* stubs per module that get a name */
#define NAME_ROOM 4096
#define RELOCS 64 /* relocations read at once */

struct stub {
	struct cp_symtab_target *target;
	uint64_t start; /* vaddr */
	uint64_t slot;	/* vaddr of its GOT slot */
	uint32_t symbol;
	uint64_t resolver; /* vaddr of the function that chooses the slot's; 0: none */
};

struct stubs {
	size_t n;
	struct stub s[STUBS_MAX];
};

#if defined(__x86_64__)
#define IRELATIVE R_X86_64_IRELATIVE

/* [endbr64] [bnd] jmp *slot(%rip), in entries of SIZE. */
static int decode_sized(const struct cp_elf *e, const Elf64_Shdr *h, uint64_t vaddr, uint64_t size,
			struct stub *s)
{
	uint8_t code[16];
	uint64_t off;
	int32_t distance;
	size_t at = 0;

	s->start = vaddr - (vaddr - h->sh_addr) % size;
	if (cp_elf_locate(e, s->start, size, &off) || cp_elf_read(e, off, code, size))
		return -ENOENT;
	if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		at += 4;
	if (code[at] == 0xf2)
		at++;
	if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
		return -ENOENT;
	memcpy(&distance, code + at + 2, sizeof(distance));
	s->slot = s->start + at + 6 + (uint64_t)(int64_t)distance;
	return 0;
}

/* Static programs have entries of 8 bytes, too, and the linker doesn't say so. */
static int decode(const struct cp_elf *e, const Elf64_Shdr *h, uint64_t vaddr, struct stub *s)
{
	if (h->sh_entsize != 16 && !decode_sized(e, h, vaddr, 8, s))
		return 0;
	return h->sh_entsize == 8 ? -ENOENT : decode_sized(e, h, vaddr, 16, s);
}
#elif defined(__aarch64__)
#define IRELATIVE R_AARCH64_IRELATIVE
#define BTI_C 0xd503245fu

static uint32_t word_at(const struct cp_elf *e, uint64_t vaddr)
{
	uint64_t off;
	uint32_t w;

	return cp_elf_locate(e, vaddr, 4, &off) || cp_elf_read(e, off, &w, 4) ? 0 : w;
}

/* [bti c] adrp x16, slot; ldr x17, [x16, slot]; add; br x17; up to 24 bytes per entry. */
static int decode(const struct cp_elf *e, const Elf64_Shdr *h, uint64_t vaddr, struct stub *s)
{
	uint64_t at = vaddr & ~UINT64_C(3);
	uint32_t adrp, ldr;
	int64_t pages;

	if (word_at(e, at) == BTI_C)
		at += 4;
	for (int i = 0; i < 6 && at > h->sh_addr; i++, at -= 4)
		if ((word_at(e, at) & 0x9f00001fu) == 0x90000010u)
			break;
	adrp = word_at(e, at);
	ldr = word_at(e, at + 4);
	if ((adrp & 0x9f00001fu) != 0x90000010u || (ldr & 0xffc003ffu) != 0xf9400211u)
		return -ENOENT;
	pages = (int32_t)((adrp >> 5 & 0x7ffff) << 13) >> 11 | (int32_t)(adrp >> 29 & 3);
	s->slot = (at & ~UINT64_C(4095)) + (uint64_t)pages * 4096 + (ldr >> 10 & 0xfff) * 8;
	s->start = word_at(e, at - 4) == BTI_C ? at - 4 : at;
	return 0;
}
#endif

static bool is_plt(const struct cp_elf *e, const Elf64_Shdr *h)
{
	return h->sh_type == SHT_PROGBITS && (h->sh_flags & SHF_EXECINSTR) &&
	       (cp_elf_section_is(e, h, ".plt") || cp_elf_section_is(e, h, ".plt.sec") ||
		cp_elf_section_is(e, h, ".plt.got") || cp_elf_section_is(e, h, ".iplt"));
}

static void collect_stubs(const struct cp_elf *e, struct cp_symtab_target *t, size_t n,
			  struct stubs *all)
{
	struct cp_elf_sections sections = { .e = e };
	Elf64_Shdr h;

	while (cp_elf_next_section(&sections, &h)) {
		if (!is_plt(e, &h))
			continue;
		for (size_t i = 0; i < n && all->n < STUBS_MAX; i++) {
			struct stub *s = &all->s[all->n];

			if (t[i].vaddr - h.sh_addr < h.sh_size && !decode(e, &h, t[i].vaddr, s)) {
				s->target = &t[i];
				all->n++;
			}
		}
	}
}

static void match(struct stubs *all, const Elf64_Rela *r)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->s[i].slot != r->r_offset)
			continue;
		all->s[i].symbol = ELF64_R_SYM(r->r_info);
		if (ELF64_R_TYPE(r->r_info) == IRELATIVE)
			all->s[i].resolver = (uint64_t)r->r_addend;
	}
}

static void resolve_stubs(const struct cp_elf *e, struct stubs *all)
{
	struct cp_elf_sections sections = { .e = e };
	Elf64_Rela relocs[RELOCS];
	uint64_t part, n;
	Elf64_Shdr h;

	while (cp_elf_next_section(&sections, &h)) {
		if (h.sh_type != SHT_RELA || !(h.sh_flags & SHF_ALLOC))
			continue;
		n = h.sh_size / sizeof(*relocs);
		for (uint64_t i = 0; i < n; i += part) {
			part = n - i < RELOCS ? n - i : RELOCS;
			if (cp_elf_read(e, h.sh_offset + i * sizeof(*relocs), relocs,
					part * sizeof(*relocs)))
				return;
			for (uint64_t k = 0; k < part; k++)
				match(all, &relocs[k]);
		}
	}
}

static int set_name(const struct stub *s, char *name, size_t len, struct cp_arena *names)
{
	memcpy(name + len, "@plt", 4);
	s->target->query->name = cp_arena_text(names, name, len + 4);
	s->target->query->start = s->start;
	return s->target->query->name ? 0 : -ENOMEM;
}

static int name_stub(const struct cp_elf *e, const struct cp_elf_symtab *dynsym,
		     const struct stub *s, struct cp_arena *names)
{
	char name[NAME_ROOM];
	Elf64_Sym sym;
	long len;

	if (!s->symbol || s->symbol >= dynsym->count ||
	    cp_elf_read(e, dynsym->off + s->symbol * sizeof(sym), &sym, sizeof(sym)))
		return 0;
	len = cp_elf_read_string(e, dynsym->names_off + sym.st_name,
				 dynsym->names_off + dynsym->names_size, name, sizeof(name) - 4);
	if (len <= 0)
		return 0;
	return set_name(s, name, (size_t)len, names);
}

/* The resolver has the function's name, in a table that is not for the loader. */
static int name_by_resolver(const struct cp_elf *e, const struct stub *s, struct cp_arena *names)
{
	struct cp_symbol_query q = { .name = NULL };
	struct cp_symtab_target t = { .vaddr = s->resolver, .query = &q };
	struct cp_elf_symtab symtab;
	char name[NAME_ROOM];
	size_t len;

	if (cp_elf_find_symtab(e, SHT_SYMTAB, &symtab))
		return 0;
	if (cp_symtab_pass(e, &symtab, NULL, &t, 1, names) == -ENOMEM)
		return -ENOMEM;
	len = q.name ? strlen(q.name) : 0;
	if (!len || len > sizeof(name) - 4)
		return 0;
	memcpy(name, q.name, len);
	return set_name(s, name, len, names);
}

int cp_plt_name(const struct cp_elf *e, const struct cp_elf_symtab *dynsym,
		struct cp_symtab_target *targets, size_t n, struct cp_arena *names)
{
	struct stubs all = { 0 };
	int r = 0;

	collect_stubs(e, targets, n, &all);
	if (!all.n)
		return 0;
	resolve_stubs(e, &all);
	for (size_t i = 0; i < all.n && !r; i++)
		r = all.s[i].resolver ? name_by_resolver(e, &all.s[i], names)
				      : name_stub(e, dynsym, &all.s[i], names);
	return r;
}
