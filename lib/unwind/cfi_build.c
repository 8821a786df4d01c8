/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds tables for modules that have none; see unwind.h. Any context but a handler: it reads
 * all of the module's information, once. */
#include "unwind/unwind.h"

#include "symbols/symbols.h"
#include "base/sys.h"

#define HEAD_BYTES 12 /* bytes of .eh_frame_hdr before its table */
#define TABLE_ENC 0x3b
#define COUNT_ENC 0x03
#define ALIGN 4
#define LONG_LENGTH 0xffffffff
#define SCANNED_MAX ((uint64_t)4 << 20)
#define LENGTH_MAX (1 << 24) /* most bytes of a record: longer ones are garbage */

/* State while reading: a window of bytes, because each read through the kernel costs a system call.
 */
struct reader {
	const struct cp_cfi_module *m;
	bool copy;
	uint64_t at;
	size_t have;
	uint8_t bytes[32 << 10];
};

/* Copies bytes of the module's read-only data, whatever they are, including the gaps between
 * objects. */
static CP_STACKMEM_RAW void copy_raw(void *to, uint64_t from, size_t n)
{
	const volatile uint8_t *bytes = (const volatile uint8_t *)(uintptr_t)from;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = bytes[i];
}

static bool get_bytes(struct reader *r, uint64_t addr, void *to, size_t n)
{
	uint64_t end = r->m->tables_end;

	if (addr < r->m->tables || addr >= end || end - addr < n)
		return false;
	if (!r->copy) {
		copy_raw(to, addr, n);
		return true;
	}
	if (addr < r->at || addr + n > r->at + r->have) {
		size_t want = end - addr < sizeof(r->bytes) ? end - addr : sizeof(r->bytes);

		r->at = addr;
		r->have = cp_sys_peek(r->bytes, addr, want) == (long)want ? want : 0;
		if (!r->have && cp_sys_peek(r->bytes, addr, n) == (long)n)
			r->have = n;
		if (!r->have)
			return false;
	}
	memcpy(to, r->bytes + (addr - r->at), n);
	return true;
}

static uint32_t get_word(struct reader *r, uint64_t addr)
{
	uint32_t v = 0;

	get_bytes(r, addr, &v, sizeof(v));
	return v;
}

bool cp_cfi_build_has_table(const struct cp_cfi_module *m, bool copy)
{
	uint8_t head[HEAD_BYTES];

	if (!m->hdr || m->hdr < m->tables || m->tables_end - m->hdr < sizeof(head))
		return false;
	if (!copy)
		memcpy(head, (const void *)(uintptr_t)m->hdr, sizeof(head));
	else if (cp_sys_peek(head, m->hdr, sizeof(head)) != (long)sizeof(head))
		return false;
	return head[0] == 1 && head[2] == COUNT_ENC && head[3] == TABLE_ENC;
}

/* Returns the address of the record after the one at ADDR; 0 = there is no record at ADDR, or the
 * section ends there. */
static uint64_t next_record(struct reader *r, uint64_t addr)
{
	uint32_t length = get_word(r, addr);

	return !length || length == LONG_LENGTH || length > LENGTH_MAX ? 0 : addr + 4 + length;
}

/* Is there a CIE that an FDE of the same CIE follows directly? No other data looks like that. */
static bool begins(struct reader *r, uint64_t addr)
{
	uint64_t fde = get_word(r, addr + 4) ? 0 : next_record(r, addr);
	struct cp_cfi_copy room;
	struct cp_cfi_fde parsed;
	uint64_t size;
	uint8_t version = 0;

	if (!fde || !get_bytes(r, addr + 8, &version, 1) || (version != 1 && version != 3))
		return false;
	return get_word(r, fde + 4) == fde + 4 - addr &&
	       cp_cfi_table_parse(r->m, fde, r->copy ? &room : NULL, &parsed, &size) &&
	       parsed.start >= r->m->start && parsed.start < r->m->end;
}

/* Returns the address of .eh_frame in the header, which may exist without a table. */
static uint64_t by_header(struct reader *r)
{
	uint8_t head[2];
	uint64_t addr;

	if (!r->m->hdr || !get_bytes(r, r->m->hdr, head, sizeof(head)) || head[0] != 1 ||
	    head[1] != 0x1b)
		return 0;
	addr = r->m->hdr + 4;
	addr += (uint64_t)(int64_t)(int32_t)get_word(r, addr);
	return begins(r, addr) ? addr : 0;
}

/* Examine the file once for all segments. */
static void ask_file(struct cp_cfi_place *p)
{
	struct cp_elf e;
	Elf64_Shdr h;

	p->asked = true;
	if (!p->path || cp_elf_open(&e, p->path))
		return;
	p->sections = e.shnum != 0;
	if (!cp_elf_find_section(&e, SHT_PROGBITS, ".eh_frame", &h) ||
	    !cp_elf_find_section(&e, SHT_X86_64_UNWIND, ".eh_frame", &h))
		p->eh_frame = p->bias + h.sh_addr;
	cp_elf_close(&e);
}

/* Returns the address according to the file's sections. */
static uint64_t by_file(struct reader *r, struct cp_cfi_place *p)
{
	if (!p->asked)
		ask_file(p);
	return p->eh_frame && begins(r, p->eh_frame) ? p->eh_frame : 0;
}

static uint64_t by_scan(struct reader *r, uint64_t from, uint64_t to)
{
	if (to - from > SCANNED_MAX)
		to = from + SCANNED_MAX;
	for (uint64_t at = (from + ALIGN - 1) & -(uint64_t)ALIGN; at < to; at += ALIGN)
		if (begins(r, at))
			return at;
	return 0;
}

/* Add all FDEs from ADDR on to T, unless T is NULL. Returns their number. */
static uint64_t collect_fdes(struct reader *r, uint64_t addr, struct cp_cfi_table *t)
{
	struct cp_cfi_copy room;
	struct cp_cfi_fde fde;
	uint64_t n = 0, behind, size;

	for (; (behind = next_record(r, addr)); addr = behind) {
		if (!get_word(r, addr + 4) ||
		    !cp_cfi_table_parse(r->m, addr, r->copy ? &room : NULL, &fde, &size) || !size ||
		    fde.start < r->m->start || fde.start >= r->m->end)
			continue;
		if (t && n < t->count)
			t->entries[n] = (struct cp_cfi_entry){
				.start = (int32_t)(fde.start - t->base),
				.fde = (int32_t)(addr - t->base),
			};
		n++;
	}
	return n;
}

/* Sort the entries as keys: they are converted to keys in place, and back. A rising key is a rising
 * address. */
static void sort_table(struct cp_cfi_table *t)
{
	for (uint64_t i = 0; i < t->count; i++) {
		struct cp_cfi_entry e = t->entries[i];
		uint64_t key = (uint64_t)(uint32_t)e.start << 32 | (uint32_t)e.fde;

		memcpy(&t->entries[i], &key, sizeof(key));
	}
	cp_sort(t->entries, t->count, sizeof(t->entries[0]));
	for (uint64_t i = 0; i < t->count; i++) {
		uint64_t key;

		memcpy(&key, &t->entries[i], sizeof(key));
		t->entries[i] = (struct cp_cfi_entry){ (int32_t)(key >> 32), (int32_t)key };
	}
}

static struct cp_cfi_table *make_table(struct reader *r, uint64_t addr)
{
	uint64_t count = collect_fdes(r, addr, NULL);
	size_t bytes = sizeof(struct cp_cfi_table) + count * sizeof(struct cp_cfi_entry);
	struct cp_cfi_table *t;

	/* Relative addresses have 31 bits. */
	if (!count || r->m->end - r->m->start > INT32_MAX)
		return NULL;
	t = cp_sys_map(bytes);
	if (!t)
		return NULL;
	t->bytes = bytes;
	t->base = r->m->start;
	t->count = count;
	count = collect_fdes(r, addr, t);
	if (count < t->count)
		t->count = count;
	sort_table(t);
	return t;
}

struct cp_cfi_table *cp_cfi_build(const struct cp_cfi_module *m, struct cp_cfi_place *p, bool copy)
{
	struct reader *r = p->code ? cp_sys_map(sizeof(*r)) : NULL;
	struct cp_cfi_table *t = NULL;
	uint64_t addr;

	if (!r)
		return NULL;
	r->m = m;
	r->copy = copy;
	addr = by_header(r);
	if (!addr)
		addr = by_file(r, p);
	/* A file that has sections, but none with this name, has no .eh_frame. */
	if (!addr && !p->sections)
		addr = by_scan(r, p->segment, p->segment_end);
	if (addr)
		t = make_table(r, addr);
	cp_sys_unmap(r, sizeof(*r));
	return t;
}

void cp_cfi_build_release(const struct cp_cfi_table *t)
{
	if (t)
		cp_sys_unmap((void *)(uintptr_t)t, t->bytes);
}
