/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the FDE of a pc in the table that the linker sorted; see unwind_signal.h. */
#include "unwind/signal/cfi_search.h"
#include "base/sys.h"

#define LONG_LENGTH 0xffffffff

static inline bool get_bytes(uint64_t addr, void *to, size_t n, bool copy)
{
	if (copy)
		return cp_sys_peek(to, addr, n) == (long)n;
	memcpy(to, (const void *)(uintptr_t)addr, n);
	return true;
}

static inline bool find_table(const struct cp_cfi_module *m, bool copy, struct cp_cfi_sorted *t)
{
	struct cp_cfi_head h;

	if (cp_cfi_built(m, t))
		return true;
	if (m->hdr && cp_cfi_inside(m, m->hdr, sizeof(h)) &&
	    get_bytes(m->hdr, &h, sizeof(h), copy) && cp_cfi_sorted_by(m, &h, t)) {
		t->copy = copy;
		return true;
	}
	cp_cfi_module_missed();
	return false;
}

/* The same as cp_cfi_search, in memory that may go away: the last entries of the search are copied
 * at once, because each copy is a system call. Returns false if it has gone away. */
static __attribute__((noinline)) bool search_copied(struct cp_cfi_sorted t, int32_t want,
						    struct cp_cfi_copy *copy,
						    struct cp_cfi_entry *found)
{
	const size_t most = sizeof(copy->fde) / sizeof(*found);
	uint64_t half;
	int32_t start;

	for (; t.count > most; t.count -= half) {
		half = t.count / 2;
		if (!get_bytes(t.at + half * sizeof(*found), &start, sizeof(start), true))
			return false;
		t.at += start <= want ? half * sizeof(*found) : 0;
	}
	if (!get_bytes(t.at, copy->fde, t.count * sizeof(*found), true))
		return false;
	t.at = (uint64_t)(uintptr_t)copy->fde;
	memcpy(found, (const char *)cp_cfi_search(&t, want), sizeof(*found));
	return true;
}

/* Find the last function that starts at or before PC: its start and its FDE. Returns false if there
 * is none. */
static bool search(const struct cp_cfi_module *m, uint64_t pc, struct cp_cfi_copy *copy,
		   uint64_t *start, uint64_t *fde)
{
	struct cp_cfi_entry e;
	struct cp_cfi_sorted t;
	int32_t want;

	if (!find_table(m, copy != NULL, &t) || !t.count || !cp_cfi_in_range(&t, pc, &want))
		return false;
	if (t.copy) {
		if (!search_copied(t, want, copy, &e))
			return false;
	} else {
		memcpy(&e, (const char *)cp_cfi_search(&t, want), sizeof(e));
	}
	if (e.start > want)
		return false;
	*start = t.base + (uint64_t)(int64_t)e.start;
	*fde = t.base + (uint64_t)(int64_t)e.fde;
	return true;
}

uint64_t cp_cfi_table_start_before(const struct cp_cfi_module *m, uint64_t pc, bool copy)
{
	struct cp_cfi_copy room;
	uint64_t start, fde;

	return search(m, pc, copy ? &room : NULL, &start, &fde) ? start : 0;
}

/* Set up a cursor over the record at ADDR, after its length; in the module, or in a copy at TO. */
static bool begin_record(const struct cp_cfi_module *m, uint64_t addr, uint8_t *to, size_t room,
			 struct cp_cfi_cursor *c)
{
	uint64_t size;
	uint32_t length;

	if (!cp_cfi_inside(m, addr, sizeof(length) + sizeof(size)) ||
	    !get_bytes(addr, &length, sizeof(length), to != NULL))
		return false;
	addr += sizeof(length);
	size = length;
	if (length == LONG_LENGTH) {
		if (!get_bytes(addr, &size, sizeof(size), to != NULL))
			return false;
		addr += sizeof(size);
	}
	if (!size || !cp_cfi_inside(m, addr, size))
		return false;
	*c = (struct cp_cfi_cursor){ .p = (const uint8_t *)(uintptr_t)addr };
	if (to) {
		if (size > room) {
			size = room;
			c->cut = true;
		}
		if (!get_bytes(addr, to, size, true))
			return false;
		c->p = to;
		c->bias = addr - (uint64_t)(uintptr_t)to;
	}
	c->end = c->p + size;
	return true;
}

/* Parse the augmentation letters: encodings, a personality to skip, flags. */
static void augmentation(struct cp_cfi_cursor *c, const uint8_t *letters, struct cp_cfi_fde *fde)
{
	uint64_t size = cp_cfi_uleb(c);
	struct cp_cfi_cursor data = *c;
	uint8_t enc;

	cp_cfi_skip(c, size);
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			fde->pointers = cp_cfi_u8(&data);
			c->bad |= data.bad;
			break;
		case 'P':
			enc = cp_cfi_u8(&data);
			cp_cfi_pointer(&data, enc);
			data.bad = false; /* the base is not needed */
			break;
		case 'L': cp_cfi_u8(&data); break;
		case 'S': fde->signal = true; break;
		case 'B': break; /* aarch64: return addresses are signed with the B key */
		default: return; /* the data of an unknown letter can't be parsed */
		}
	}
}

/* Parse the CIE after its length. C is left at its instructions. */
static bool read_cie(struct cp_cfi_cursor *c, struct cp_cfi_fde *fde)
{
	const uint8_t *letters;
	uint8_t version;
	unsigned column;

	cp_cfi_skip(c, 4); /* its id, 0 */
	version = cp_cfi_u8(c);
	letters = c->p;
	while (cp_cfi_u8(c))
		;
	if (version == 4)
		cp_cfi_skip(c, 2); /* sizes of addresses and segments */
	fde->code_align = cp_cfi_uleb(c);
	fde->data_align = cp_cfi_sleb(c);
	if (fde->data_align != (int16_t)fde->data_align)
		return false; /* a larger factor might give offsets that don't fit a rule */
	column = cp_cfi_column(version == 1 ? cp_cfi_u8(c) : cp_cfi_uleb(c));
	if (c->bad || (version != 1 && version != 3 && version != 4) || column == CP_CFI_COLUMNS)
		return false;
	fde->ra_column = (uint8_t)column;
	fde->sized = *letters == 'z';
	if (fde->sized)
		augmentation(c, letters + 1, fde);
	else if (*letters)
		return false;
	fde->cie = *c;
	return !c->bad;
}

bool cp_cfi_table_parse(const struct cp_cfi_module *m, uint64_t addr, struct cp_cfi_copy *copy,
			struct cp_cfi_fde *fde, uint64_t *size)
{
	struct cp_cfi_cursor *c = &fde->program, cie;
	uint64_t at;

	if (!begin_record(m, addr, copy ? copy->fde : NULL, sizeof(copy->fde), c))
		return false;
	at = (uint64_t)(uintptr_t)c->p + c->bias;
	addr = at - cp_cfi_u32(c);
	if (c->bad || addr == at ||
	    !begin_record(m, addr, copy ? copy->cie : NULL, sizeof(copy->cie), &cie))
		return false;
	fde->pointers = 0;
	fde->signal = fde->sized = false;
	if (!read_cie(&cie, fde))
		return false;
	fde->start = cp_cfi_pointer(c, fde->pointers);
	*size = cp_cfi_pointer(c, fde->pointers & CP_CFI_ENC_FORMAT);
	if (fde->sized)
		cp_cfi_skip(c, cp_cfi_uleb(c));
	return !c->bad;
}

bool cp_cfi_table_find(const struct cp_cfi_module *m, uint64_t pc, struct cp_cfi_copy *copy,
		       struct cp_cfi_fde *fde)
{
	uint64_t start, addr, size;

	return search(m, pc, copy, &start, &addr) &&
	       cp_cfi_table_parse(m, addr, copy, fde, &size) && pc >= fde->start &&
	       pc - fde->start < size;
}
