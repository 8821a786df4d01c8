/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions and calls in the code of a module; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/core.h"

bool ct_dwarf_code_open(struct ct_dwarf_code *c, const struct ct_dwarf_module *m)
{
	size_t count = 0;
	GElf_Ehdr h;
	GElf_Phdr p;

	*c = (struct ct_dwarf_code){ .module = m, .elf = ct_dwarf_elf_begin(m->image) };
	c->bytes = c->elf ? (const uint8_t *)elf_rawfile(c->elf, &c->size) : NULL;
	if (!c->bytes || gelf_getclass(c->elf) != ELFCLASS64 || !gelf_getehdr(c->elf, &h) ||
	    elf_getphdrnum(c->elf, &count)) {
		ct_dwarf_code_close(c);
		return false;
	}
	c->machine = h.e_machine;
	for (size_t i = 0; i < count && i < INT16_MAX; i++)
		if (gelf_getphdr(c->elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME)
			c->frame_table = p.p_vaddr;
	return true;
}

void ct_dwarf_code_close(struct ct_dwarf_code *c)
{
	elf_end(c->elf);
	*c = (struct ct_dwarf_code){ 0 };
}

const uint8_t *ct_dwarf_code_at(const struct ct_dwarf_code *c, uint64_t address, size_t *n)
{
	for (size_t i = 0; i < c->module->segment_count; i++) {
		const struct ct_dwarf_segment *s = &c->module->segments[i];
		uint64_t in = address - s->address;

		if (address < s->address || in >= s->file_size || s->offset > c->size ||
		    s->file_size > c->size - s->offset)
			continue;
		*n = s->file_size - in;
		return c->bytes + s->offset + in;
	}
	return NULL;
}

static uint64_t place_at(const uint8_t *p, uint64_t base)
{
	int32_t distance;

	memcpy(&distance, p, sizeof(distance));
	return base + (uint64_t)(int64_t)distance;
}

/* Sets *END to the end of the function at BEGIN, of which the entry for unwinding is at ENTRY. If
 * that is encoded in another way than compilers' are, *END stays. */
static void end_of_entry(const struct ct_dwarf_code *c, uint64_t entry, uint64_t begin,
			 uint64_t *end)
{
	size_t n;
	const uint8_t *p = ct_dwarf_code_at(c, entry, &n);
	uint32_t size;

	if (!p || n < 16 || place_at(p + 8, entry + 8) != begin)
		return;
	memcpy(&size, p + 12, sizeof(size));
	if (begin + size < *end)
		*end = begin + size;
}

/* Searches .eh_frame_hdr, a header of 12 bytes and a sorted table: for each function the distances
 * of its begin and of its entry. */
static bool function_in_table(const struct ct_dwarf_code *c, uint64_t address, uint64_t *begin,
			      uint64_t *end)
{
	static const uint8_t usual[] = { 1, 0x1b, 0x03, 0x3b }; /* the encodings that linkers use */
	size_t n = 0, low = 0;
	const uint8_t *h = c->frame_table ? ct_dwarf_code_at(c, c->frame_table, &n) : NULL;
	const uint8_t *row;
	uint32_t high, count;

	if (!h || n < 12 || memcmp(h, usual, sizeof(usual)) != 0)
		return false;
	memcpy(&count, h + 8, sizeof(count));
	if (count > (n - 12) / 8)
		return false;
	for (high = count; low < high;) {
		size_t middle = (low + high) / 2;

		if (place_at(h + 12 + 8 * middle, c->frame_table) <= address)
			low = middle + 1;
		else
			high = (uint32_t)middle;
	}
	if (!low)
		return false;
	row = h + 12 + 8 * (low - 1);
	*begin = place_at(row, c->frame_table);
	if (!ct_dwarf_code_at(c, *begin, &n))
		return false;
	*end = low < count ? place_at(row + 8, c->frame_table) : *begin + n;
	end_of_entry(c, place_at(row + 4, c->frame_table), *begin, end);
	return address < *end && *end - *begin <= n;
}

static void find_symbols(const struct ct_dwarf_code *c, struct ct_dwarf_symbol_query *q, size_t n)
{
	if (c->module->debug >= 0)
		ct_dwarf_symbols_find(c->module->debug, q, n);
	ct_dwarf_symbols_find(c->module->image, q, n);
}

bool ct_dwarf_code_function(const struct ct_dwarf_code *c, uint64_t address, uint64_t *begin,
			    uint64_t *end)
{
	struct ct_dwarf_symbol_query q = { .address = address };
	bool is_named;
	size_t n;

	find_symbols(c, &q, 1);
	is_named = q.name;
	free(q.name);
	if (!is_named)
		return function_in_table(c, address, begin, end);
	*begin = q.begin;
	*end = q.end;
	return ct_dwarf_code_at(c, *begin, &n) && *end - *begin <= n;
}

const char *ct_dwarf_code_import(const struct ct_dwarf_code *c, uint64_t slot)
{
	Elf_Scn *scn = NULL, *symbols;
	GElf_Shdr h, table;
	GElf_Rela r;
	GElf_Sym s;

	while ((scn = elf_nextscn(c->elf, scn))) {
		Elf_Data *d;

		if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_RELA || !(h.sh_flags & SHF_ALLOC) ||
		    !(d = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; gelf_getrela(d, i, &r); i++) {
			if (r.r_offset != slot || !GELF_R_SYM(r.r_info))
				continue;
			symbols = elf_getscn(c->elf, h.sh_link);
			if (symbols && gelf_getshdr(symbols, &table) &&
			    gelf_getsym(elf_getdata(symbols, NULL), (int)GELF_R_SYM(r.r_info), &s))
				return elf_strptr(c->elf, table.sh_link, s.st_name);
		}
	}
	return NULL;
}

/* Returns the place from which the stub at ADDRESS jumps; 0: there is no stub. */
static uint64_t slot_of_stub(const struct ct_dwarf_code *c, uint64_t address)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t n, at = 0;
	const uint8_t *p = ct_dwarf_code_at(c, address, &n);
	uint32_t page, load;

	if (!p || n < 16)
		return 0;
	if (c->machine == EM_X86_64) { /* [endbr64] [bnd] jmp *slot(%rip) */
		at += memcmp(p, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
		at += p[at] == 0xf2;
		return p[at] == 0xff && p[at + 1] == 0x25 ? place_at(p + at + 2, address + at + 6)
							  : 0;
	}
	at += !memcmp(p, "\x5f\x24\x03\xd5", 4) ? 4
						: 0; /* [bti c] adrp x16; ldr x17, [x16, slot] */
	memcpy(&page, p + at, sizeof(page));
	memcpy(&load, p + at + 4, sizeof(load));
	if (c->machine != EM_AARCH64 || (page & 0x9f00001f) != 0x90000010 ||
	    (load & 0xffc003ff) != 0xf9400211)
		return 0;
	return ((address + at) & ~UINT64_C(4095)) +
	       (uint64_t)((int64_t)((uint64_t)((page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3))
				    << 43) >>
			  31) +
	       (load >> 10 & 0xfff) * 8;
}

void ct_dwarf_code_names(const struct ct_dwarf_code *c, struct ct_dwarf_symbol_query *q, size_t n)
{
	find_symbols(c, q, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t slot = q[i].name ? 0 : slot_of_stub(c, q[i].address);
		const char *name = slot ? ct_dwarf_code_import(c, slot) : NULL;

		if (name && *name) {
			q[i].name = ct_memory_printf("%s@plt", name);
			q[i].begin = q[i].address;
		}
	}
}
