/* Function starts from .eh_frame_hdr; see ehfunc.h. */
#include "ehfunc.h"

#include <errno.h>

/* DWARF pointer encodings (LSB, "Exception Frames"). */
#define UDATA4 0x03
#define DATAREL_SDATA4 0x3b

struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

struct entry {
	int32_t function, fde; /* relative to the header */
};

/* An FDE whose addresses are pc-relative 32-bit values, as on every port of ours. */
struct fde {
	uint32_t length, cie;
	int32_t function; /* relative to this field */
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
	bytes = (uint64_t)h.count * sizeof(struct entry);
	if (!h.count || cp_elf_locate(e, p.p_vaddr + sizeof(h), bytes, &t->table))
		return -ENOENT;
	t->e = e;
	t->header = p.p_vaddr;
	t->count = h.count;
	return 0;
}

static int read_entry(const struct cp_ehfunc *t, uint32_t i, struct entry *entry)
{
	return cp_elf_read(t->e, t->table + (uint64_t)i * sizeof(*entry), entry, sizeof(*entry));
}

/* The last entry that doesn't begin behind VADDR. */
static int find_entry(const struct cp_ehfunc *t, uint64_t vaddr, struct entry *found)
{
	uint32_t low = 0, high = t->count;
	int err = -ENOENT;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct entry entry;
		int r = read_entry(t, middle, &entry);

		if (r)
			return r;
		if (t->header + (uint64_t)(int64_t)entry.function > vaddr) {
			high = middle;
		} else {
			*found = entry;
			err = 0;
			low = middle + 1;
		}
	}
	return err;
}

int cp_ehfunc_start(const struct cp_ehfunc *t, uint64_t vaddr, uint64_t *start)
{
	uint64_t function, at, off;
	struct entry entry;
	struct fde fde;
	int err = find_entry(t, vaddr, &entry);

	if (err)
		return err;
	function = t->header + (uint64_t)(int64_t)entry.function;
	at = t->header + (uint64_t)(int64_t)entry.fde;
	if (cp_elf_locate(t->e, at, sizeof(fde), &off))
		return -ENOENT;
	err = cp_elf_read(t->e, off, &fde, sizeof(fde));
	if (err)
		return err;
	/* Another encoding of addresses reads as nonsense here and is left alone. */
	if (at + offsetof(struct fde, function) + (uint64_t)(int64_t)fde.function != function)
		return -ENOENT;
	if (vaddr - function >= fde.size)
		return -ENOENT;
	*start = function;
	return 0;
}
