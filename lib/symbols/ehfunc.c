/* SPDX-License-Identifier: BSD-3-Clause */
/* Where functions begin and end, from .eh_frame_hdr; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>

/* DWARF pointer encodings (LSB, "Exception Frames"). */
#define UDATA4 0x03
#define DATAREL_SDATA4 0x3b

struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

/* An FDE whose addresses are pc-relative 32-bit values, as on all supported ports. */
struct fde {
	uint32_t length, cie;
	int32_t function; /* address relative to this field */
	uint32_t size;
};

int cp_ehfunc_open(struct cp_ehfunc *t, const struct cp_elf *e)
{
	struct header h;
	Elf64_Phdr p;
	uint64_t off, bytes;

	for (unsigned i = 0;; i++) {
		if (cp_elf_segment(e, i, &p))
			return -ENOENT;
		if (p.p_type == PT_GNU_EH_FRAME)
			break;
	}
	if (cp_elf_locate(e, p.p_vaddr, sizeof(h), &off) || cp_elf_read(e, off, &h, sizeof(h)))
		return -ENOENT;
	if (h.version != 1 || h.count_encoding != UDATA4 || h.table_encoding != DATAREL_SDATA4)
		return -ENOENT;
	bytes = (uint64_t)h.count * sizeof(struct cp_ehfunc_entry);
	if (!h.count || cp_elf_locate(e, p.p_vaddr + sizeof(h), bytes, &t->table))
		return -ENOENT;
	t->e = e;
	t->header = p.p_vaddr;
	t->count = h.count;
	t->start = t->size = 0;
	t->hint = t->block_count = 0;
	return 0;
}

#define BLOCK (sizeof(((struct cp_ehfunc *)0)->block) / sizeof(struct cp_ehfunc_entry))

/* Read entry I through the block that contains it, because its neighbours are needed next. */
static int read_entry(struct cp_ehfunc *t, uint32_t i, struct cp_ehfunc_entry *entry)
{
	if (i - t->block_start >= t->block_count) {
		uint32_t start = i - i % BLOCK, left = t->count - start;
		uint32_t n = left < BLOCK ? left : BLOCK;
		int err = cp_elf_read(t->e, t->table + (uint64_t)start * sizeof(*entry), t->block,
				      n * sizeof(*entry));

		t->block_count = 0;
		if (err)
			return err;
		t->block_start = start;
		t->block_count = n;
	}
	*entry = t->block[i - t->block_start];
	return 0;
}

/* Returns 1 if entry I begins after VADDR (or is past the table), 0 if not, or the error of
 * reading. */
static int is_behind(struct cp_ehfunc *t, uint64_t i, uint64_t vaddr, struct cp_ehfunc_entry *entry)
{
	int err = i < t->count ? read_entry(t, (uint32_t)i, entry) : 0;

	if (err)
		return err;
	return i >= t->count || t->header + (uint64_t)(int64_t)entry->function > vaddr;
}

/* Find the last entry that doesn't begin after VADDR: first in growing steps from the last answer,
 * then by bisection. */
static int find_entry(struct cp_ehfunc *t, uint64_t vaddr, struct cp_ehfunc_entry *found)
{
	uint64_t low = t->hint, step = 1, high, middle;
	int r = is_behind(t, low, vaddr, found);

	if (r > 0) {
		low = 0;
		r = is_behind(t, low, vaddr, found);
	}
	if (r)
		return r < 0 ? r : -ENOENT;
	while ((r = is_behind(t, low + step, vaddr, found)) == 0) {
		low += step;
		step *= 2;
	}
	for (high = low + step; r >= 0 && high - low > 1;) {
		middle = low + (high - low) / 2;
		r = is_behind(t, middle, vaddr, found);
		if (r == 0)
			low = middle;
		else
			high = middle;
	}
	if (r < 0)
		return r;
	t->hint = (uint32_t)low;
	return read_entry(t, (uint32_t)low, found);
}

int cp_ehfunc_start(struct cp_ehfunc *t, uint64_t vaddr, uint64_t *start)
{
	uint64_t function, at, off;
	struct cp_ehfunc_entry entry;
	struct fde fde;
	int err;

	if (vaddr - t->start < t->size) {
		*start = t->start;
		return 0;
	}
	err = find_entry(t, vaddr, &entry);
	if (err)
		return err;
	function = t->header + (uint64_t)(int64_t)entry.function;
	at = t->header + (uint64_t)(int64_t)entry.fde;
	if (cp_elf_locate(t->e, at, sizeof(fde), &off))
		return -ENOENT;
	err = cp_elf_read(t->e, off, &fde, sizeof(fde));
	if (err)
		return err;
	/* An FDE with another encoding gives a wrong function address here and is ignored. */
	if (at + offsetof(struct fde, function) + (uint64_t)(int64_t)fde.function != function)
		return -ENOENT;
	if (vaddr - function >= fde.size)
		return -ENOENT;
	*start = t->start = function;
	t->size = fde.size;
	return 0;
}

uint64_t cp_ehfunc_gap(struct cp_ehfunc *t, uint64_t vaddr)
{
	struct cp_ehfunc_entry last;
	uint64_t function, start;

	if (find_entry(t, vaddr, &last))
		return 0;
	function = t->header + (uint64_t)(int64_t)last.function;
	return cp_ehfunc_start(t, function, &start) ? function : function + t->size;
}

enum cp_ehfunc_reach cp_ehfunc_reach(struct cp_ehfunc *t, uint64_t from, uint64_t vaddr)
{
	struct cp_ehfunc_entry last;
	uint64_t start;

	if (!cp_ehfunc_start(t, vaddr, &start))
		return start <= from ? CP_EHFUNC_SAME : CP_EHFUNC_OTHER;
	if (find_entry(t, vaddr, &last))
		return CP_EHFUNC_NO_FDE;
	start = t->header + (uint64_t)(int64_t)last.function;
	return start > from ? CP_EHFUNC_OTHER : CP_EHFUNC_NO_FDE;
}
