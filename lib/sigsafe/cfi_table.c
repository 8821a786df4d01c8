/* From a pc to its FDE by the table that the linker sorted; see cfi.h. */
#include "sigsafe/cfi.h"

#include "sigsafe/sys.h"

/* Head of .eh_frame_hdr in the one form that linkers write, and its entries. */
struct head {
	uint8_t version, eh_frame_enc, count_enc, table_enc;
	int32_t eh_frame;
	uint32_t count;
};

#define TABLE_ENC 0x3b /* relative to the head, signed 4 bytes */
#define COUNT_ENC 0x03 /* unsigned 4 bytes */
#define LONG_LENGTH 0xffffffff

static bool inside(const struct cp_cfi_module *m, uint64_t addr, uint64_t size)
{
	return addr >= m->tables && addr < m->tables_end && m->tables_end - addr >= size;
}

static inline bool get(uint64_t addr, void *to, size_t n, bool copy)
{
	if (copy)
		return cp_sys_peek(to, addr, n) == (long)n;
	memcpy(to, (const void *)(uintptr_t)addr, n);
	return true;
}

/* A sorted table, wherever it is. */
struct table {
	uint64_t base, at, count;
	bool copy; /* it may go away */
};

static bool find_table(const struct cp_cfi_module *m, bool copy, struct table *t)
{
	struct head h;

	if (m->built) {
		*t = (struct table){ m->built->base, (uint64_t)(uintptr_t)m->built->entries,
				     m->built->count, false };
		return true;
	}
	if (!m->hdr || !inside(m, m->hdr, sizeof(h)) || !get(m->hdr, &h, sizeof(h), copy) ||
	    h.version != 1 || h.table_enc != TABLE_ENC || h.count_enc != COUNT_ENC ||
	    !inside(m, m->hdr + sizeof(h), h.count * (uint64_t)sizeof(struct cp_cfi_entry))) {
		cp_cfi_module_missed();
		return false;
	}
	*t = (struct table){ m->hdr, m->hdr + sizeof(h), h.count, copy };
	return true;
}

/* Where the last function that starts at or before PC starts, and its FDE. False: there is none. */
static bool search(const struct cp_cfi_module *m, uint64_t pc, bool copy, uint64_t *start,
		   uint64_t *fde)
{
	uint64_t low = 0, high;
	struct cp_cfi_entry e;
	struct table t;
	int64_t want;

	if (!find_table(m, copy, &t))
		return false;
	want = (int64_t)(pc - t.base);
	for (high = t.count; low < high;) {
		uint64_t mid = (low + high) / 2;

		if (!get(t.at + mid * sizeof(e), &e, sizeof(e), t.copy))
			return false;
		if (want < e.start)
			high = mid;
		else
			low = mid + 1;
	}
	if (!low || !get(t.at + (low - 1) * sizeof(e), &e, sizeof(e), t.copy))
		return false;
	*start = t.base + (uint64_t)(int64_t)e.start;
	*fde = t.base + (uint64_t)(int64_t)e.fde;
	return true;
}

uint64_t cp_cfi_start_before(const struct cp_cfi_module *m, uint64_t pc, bool copy)
{
	uint64_t start, fde;

	return search(m, pc, copy, &start, &fde) ? start : 0;
}

/* A cursor over the record at ADDR behind its length, in the module or copied TO. */
static bool record(const struct cp_cfi_module *m, uint64_t addr, uint8_t *to, size_t room,
		   struct cp_cfi_cursor *c)
{
	uint64_t size;
	uint32_t length;

	if (!inside(m, addr, sizeof(length) + sizeof(size)) ||
	    !get(addr, &length, sizeof(length), to != NULL))
		return false;
	addr += sizeof(length);
	size = length;
	if (length == LONG_LENGTH) {
		if (!get(addr, &size, sizeof(size), to != NULL))
			return false;
		addr += sizeof(size);
	}
	if (!size || !inside(m, addr, size))
		return false;
	*c = (struct cp_cfi_cursor){ .p = (const uint8_t *)(uintptr_t)addr };
	if (to) {
		if (size > room) {
			size = room;
			c->cut = true;
		}
		if (!get(addr, to, size, true))
			return false;
		c->p = to;
		c->bias = addr - (uint64_t)(uintptr_t)to;
	}
	c->end = c->p + size;
	return true;
}

/* Augmentation letters: encodings, a personality to skip, marks. */
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
			data.bad = false; /* its base does not matter */
			break;
		case 'L': cp_cfi_u8(&data); break;
		case 'S': fde->signal = true; break;
		case 'B': break; /* aarch64: return addresses are signed with the B key */
		default: return; /* what stands behind an unknown letter can't be read */
		}
	}
}

/* The CIE behind its length. C ends as its instructions. */
static bool common(struct cp_cfi_cursor *c, struct cp_cfi_fde *fde)
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

/* Inlined: a frame more would count on the handler's stack. */
static inline __attribute__((always_inline)) bool parse(const struct cp_cfi_module *m,
							uint64_t addr, struct cp_cfi_copy *copy,
							struct cp_cfi_fde *fde, uint64_t *size)
{
	struct cp_cfi_cursor *c = &fde->program, cie;
	uint64_t at;

	if (!record(m, addr, copy ? copy->fde : NULL, sizeof(copy->fde), c))
		return false;
	at = (uint64_t)(uintptr_t)c->p + c->bias;
	addr = at - cp_cfi_u32(c);
	if (c->bad || addr == at ||
	    !record(m, addr, copy ? copy->cie : NULL, sizeof(copy->cie), &cie))
		return false;
	fde->pointers = 0;
	fde->signal = fde->sized = false;
	if (!common(&cie, fde))
		return false;
	fde->start = cp_cfi_pointer(c, fde->pointers);
	*size = cp_cfi_pointer(c, fde->pointers & CP_CFI_ENC_FORMAT);
	if (fde->sized)
		cp_cfi_skip(c, cp_cfi_uleb(c));
	return !c->bad;
}

bool cp_cfi_parse(const struct cp_cfi_module *m, uint64_t addr, struct cp_cfi_copy *copy,
		  struct cp_cfi_fde *fde, uint64_t *size)
{
	return parse(m, addr, copy, fde, size);
}

bool cp_cfi_find(const struct cp_cfi_module *m, uint64_t pc, struct cp_cfi_copy *copy,
		 struct cp_cfi_fde *fde)
{
	uint64_t start, addr, size;

	return search(m, pc, copy != NULL, &start, &addr) && parse(m, addr, copy, fde, &size) &&
	       pc >= fde->start && pc - fde->start < size;
}
