/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows the stack of a stopped thread; see attach.h. Other unwinders go on when tables are
 * missing or odd. This one says no, because a frame that it missed could be malloc's. */
#include "attach/attach.h"

#include <dwarf.h>
#include <string.h>

#define FAR UINT64_C(0x800000000000) /* addresses of programs are below */
#define RULES 17
#define RSP 7
#define PC 16
#define STACK_CHUNK 32768u
#define FRAME_END 4096u

/* ---- tables ---- */

struct cursor {
	struct ct_space *s;
	uint64_t at, end;
	bool bad;
};

static uint64_t fixed(struct cursor *c, unsigned size)
{
	uint64_t value = 0;

	c->bad = c->bad || c->end - c->at < size || c->at > c->end ||
		 !ct_space_read_fixed(c->s, c->at, &value, size);
	c->at += size;
	return c->bad ? 0 : value;
}

static uint64_t uleb(struct cursor *c)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && !c->bad; shift += 7) {
		byte = fixed(c, 1);
		c->bad = c->bad || shift > 56;
		value |= shift > 56 ? 0 : (byte & 0x7f) << shift;
	}
	return value;
}

static int64_t sleb(struct cursor *c)
{
	uint64_t from = c->at, value = uleb(c);
	unsigned bits = (unsigned)(c->at - from) * 7;

	if (bits && bits < 64 && value >> (bits - 1) & 1)
		value |= ~UINT64_C(0) << bits;
	return (int64_t)value;
}

/* A pointer of the encodings that linkers use: absolute, or relative to itself or to BASE. */
static uint64_t pointer(struct cursor *c, unsigned encoding, uint64_t base)
{
	uint64_t at = c->at, value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: value = fixed(c, 8); break;
	case DW_EH_PE_udata4: value = fixed(c, 4); break;
	case DW_EH_PE_sdata4: value = (uint64_t)(int64_t)(int32_t)fixed(c, 4); break;
	case DW_EH_PE_udata2: value = fixed(c, 2); break;
	case DW_EH_PE_sdata2: value = (uint64_t)(int64_t)(int16_t)fixed(c, 2); break;
	default: c->bad = true; return 0;
	}
	switch (encoding & 0x70) {
	case 0: return value;
	case DW_EH_PE_pcrel: return value + at;
	case DW_EH_PE_datarel: return value + base;
	default: c->bad = true; return 0;
	}
}

/* Returns the address of the description of the function at PC; 0: there is none. */
static uint64_t find_fde(struct ct_space *s, const struct ct_space_module *m, uint64_t pc)
{
	struct cursor c = { s, m->eh_frame_hdr, m->eh_frame_hdr + 64, false };
	uint64_t low = 0, high, table;
	unsigned version = (unsigned)fixed(&c, 1), frame = (unsigned)fixed(&c, 1),
		 count = (unsigned)fixed(&c, 1), kind = (unsigned)fixed(&c, 1);

	if (!m->eh_frame_hdr || c.bad || version != 1 ||
	    kind != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return 0;
	pointer(&c, frame, m->eh_frame_hdr);
	high = pointer(&c, count, m->eh_frame_hdr);
	table = c.at;
	while (!c.bad && high - low > 1) {
		uint64_t middle = (low + high) / 2;
		int32_t begin;

		if (!ct_space_read_fixed(s, table + 8 * middle, &begin, sizeof(begin)))
			return 0;
		if (m->eh_frame_hdr + (uint64_t)(int64_t)begin <= pc)
			low = middle;
		else
			high = middle;
	}
	c = (struct cursor){ s, table + 8 * low + 4, table + 8 * low + 8, c.bad || !high };
	return pointer(&c, kind, m->eh_frame_hdr);
}

/* Where a register of the caller is. */
struct rule {
	enum { SAME, UNDEFINED, AT_CFA, UNKNOWN } kind;
	int64_t offset;
};

struct row {
	uint64_t begin;	       /* of the function */
	unsigned cfa_register; /* RULES: unknown */
	int64_t cfa_offset;
	struct rule rules[RULES];
};

struct function {
	uint64_t begin, end, code_align;
	int64_t data_align;
	unsigned encoding;
	bool augmented;
	struct cursor initial, code;
};

/* Reads the augmentation of a CIE. */
static void augmentation(struct cursor *c, const char *letters, struct function *f)
{
	f->augmented = *letters == 'z';
	if (*letters)
		uleb(c);
	for (const char *l = letters; *l; l++)
		switch (*l) {
		case 'z': break;
		case 'R': f->encoding = (unsigned)fixed(c, 1); break;
		case 'L': fixed(c, 1); break;
		case 'P': {
			unsigned encoding = (unsigned)fixed(c, 1);

			pointer(c, encoding & 0x7f, 0);
			break;
		}
		default: c->bad = true; /* 'S': the frame of a signal */
		}
}

static bool read_function(struct ct_space *s, uint64_t fde, uint64_t pc, struct function *f)
{
	struct cursor c = { s, fde, fde + 4, false }, cie;
	uint64_t length = fixed(&c, 4), id, from;
	char letters[8] = "";

	*f = (struct function){ .encoding = DW_EH_PE_absptr };
	c.end = c.at + length;
	if (c.bad || !length || length > 0xfffff)
		return false;
	from = c.at;
	from -= fixed(&c, 4);
	cie = (struct cursor){ s, from, from + 4, c.bad };
	length = fixed(&cie, 4);
	cie.end = cie.at + length;
	id = fixed(&cie, 4);
	if (cie.bad || length > 0xfffff || id || fixed(&cie, 1) != 1)
		return false;
	for (unsigned i = 0; i < sizeof(letters) && (letters[i] = (char)fixed(&cie, 1)); i++)
		if (i == sizeof(letters) - 1)
			return false;
	if (*letters && *letters != 'z')
		return false;
	f->code_align = uleb(&cie);
	f->data_align = sleb(&cie);
	if (uleb(&cie) != PC)
		return false;
	augmentation(&cie, letters, f);
	f->initial = cie;
	f->begin = pointer(&c, f->encoding, 0);
	f->end = f->begin + pointer(&c, f->encoding & 0x0f, 0);
	if (f->augmented) {
		uint64_t skip = uleb(&c);

		c.at += skip;
	}
	f->code = c;
	return !c.bad && !cie.bad && pc >= f->begin && pc < f->end;
}

static void set_rule(struct cursor *c, struct row *row, uint64_t number, int kind, int64_t offset)
{
	if (number < RULES)
		row->rules[number] = (struct rule){ kind, offset };
	else if (number > 66)
		c->bad = true;
}

/* An expression leaves the value unknown. */
static void skip_expression(struct cursor *c)
{
	uint64_t size = uleb(c);

	c->bad = c->bad || size > c->end - c->at;
	c->at += c->bad ? 0 : size;
}

struct machine {
	struct row row, initial, kept[4];
	unsigned depth;
	uint64_t at; /* the address whose row this is */
};

/* Opcodes without an operand in themselves. Returns the next address. */
static void extended(struct cursor *c, unsigned op, const struct function *f, struct machine *m)
{
	struct row *row = &m->row;
	uint64_t number;

	switch (op) {
	case DW_CFA_nop: return;
	case DW_CFA_set_loc: m->at = pointer(c, f->encoding, 0); return;
	case DW_CFA_advance_loc1: m->at += fixed(c, 1) * f->code_align; return;
	case DW_CFA_advance_loc2: m->at += fixed(c, 2) * f->code_align; return;
	case DW_CFA_advance_loc4: m->at += fixed(c, 4) * f->code_align; return;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		row->cfa_register = (unsigned)uleb(c);
		row->cfa_offset = op == DW_CFA_def_cfa ? (int64_t)uleb(c) : sleb(c) * f->data_align;
		return;
	case DW_CFA_def_cfa_register: row->cfa_register = (unsigned)uleb(c); return;
	case DW_CFA_def_cfa_offset: row->cfa_offset = (int64_t)uleb(c); return;
	case DW_CFA_def_cfa_offset_sf: row->cfa_offset = sleb(c) * f->data_align; return;
	case DW_CFA_def_cfa_expression:
		row->cfa_register = RULES;
		skip_expression(c);
		return;
	case DW_CFA_remember_state:
		if (m->depth == sizeof(m->kept) / sizeof(*m->kept))
			c->bad = true;
		else
			m->kept[m->depth++] = *row;
		return;
	case DW_CFA_restore_state:
		if (!m->depth)
			c->bad = true;
		else
			*row = m->kept[--m->depth];
		return;
	case DW_CFA_GNU_args_size: uleb(c); return;
	default: break;
	}
	number = uleb(c);
	switch (op) {
	case DW_CFA_offset_extended:
		set_rule(c, row, number, AT_CFA, (int64_t)uleb(c) * f->data_align);
		return;
	case DW_CFA_offset_extended_sf:
		set_rule(c, row, number, AT_CFA, sleb(c) * f->data_align);
		return;
	case DW_CFA_restore_extended:
		if (number < RULES)
			row->rules[number] = m->initial.rules[number];
		return;
	case DW_CFA_undefined: set_rule(c, row, number, UNDEFINED, 0); return;
	case DW_CFA_same_value: set_rule(c, row, number, SAME, 0); return;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		set_rule(c, row, number, UNKNOWN, 0);
		skip_expression(c);
		return;
	default: c->bad = true;
	}
}

/* Runs the instructions of C up to the row of PC. */
static bool run(struct cursor c, uint64_t pc, const struct function *f, struct machine *m)
{
	while (c.at < c.end && !c.bad && m->at <= pc) {
		unsigned op = (unsigned)fixed(&c, 1), low = op & 0x3f;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc: m->at += low * f->code_align; break;
		case DW_CFA_offset:
			set_rule(&c, &m->row, low, AT_CFA, (int64_t)uleb(&c) * f->data_align);
			break;
		case DW_CFA_restore:
			if (low < RULES)
				m->row.rules[low] = m->initial.rules[low];
			break;
		default: extended(&c, op, f, m);
		}
	}
	return !c.bad;
}

static bool find_row(struct ct_space *s, const struct ct_space_module *m, uint64_t pc,
		     struct row *to)
{
	struct machine machine = { .row = { .cfa_register = RULES } };
	struct function f;
	uint64_t fde = find_fde(s, m, pc);

	if (!fde || !read_function(s, fde, pc, &f))
		return false;
	machine.at = f.begin;
	if (!run(f.initial, ~UINT64_C(0), &f, &machine))
		return false;
	machine.initial = machine.row;
	machine.at = f.begin;
	if (!run(f.code, pc, &f, &machine))
		return false;
	*to = machine.row;
	to->begin = f.begin;
	return true;
}

/* ---- frames ---- */

struct stack {
	struct ct_space *s;
	uint64_t from, end; /* what of it is copied */
	unsigned char *bytes;
	uint64_t limit; /* the end of its mapping */
};

static bool stack_word(struct stack *k, uint64_t at, uint64_t *to)
{
	if (at < k->from || at > k->limit - sizeof(*to))
		return false;
	/* Of a frame with large arrays only the end is read, where the saved registers are. */
	if (at > k->end + STACK_CHUNK)
		k->from = k->end = at - FRAME_END;
	while (at + sizeof(*to) > k->end) {
		uint64_t n = k->limit - k->end < STACK_CHUNK ? k->limit - k->end : STACK_CHUNK;

		k->bytes = ct_memory_realloc(k->bytes, k->end + n - k->from, 1);
		if (!ct_space_read_soon(k->s, k->end, k->bytes + (k->end - k->from), n))
			return false;
		k->end += n;
	}
	memcpy(to, k->bytes + (at - k->from), sizeof(*to));
	return true;
}

struct registers {
	uint64_t value[RULES];
	bool known[RULES];
};

/* Makes *R the caller's. Returns 1, 0 at the thread's start, or -1. */
static int step(struct stack *k, const struct row *row, struct registers *r)
{
	struct registers caller = *r;
	uint64_t cfa;

	if (row->rules[PC].kind == UNDEFINED)
		return 0;
	if (row->cfa_register >= PC || !r->known[row->cfa_register] ||
	    row->rules[PC].kind != AT_CFA)
		return -1;
	cfa = r->value[row->cfa_register] + (uint64_t)row->cfa_offset;
	if (cfa <= r->value[RSP] || cfa > k->limit)
		return -1;
	for (unsigned i = 0; i < RULES; i++) {
		const struct rule *rule = &row->rules[i];

		if (rule->kind == AT_CFA) {
			caller.known[i] = true;
			if (!stack_word(k, cfa + (uint64_t)rule->offset, &caller.value[i]))
				return -1;
		} else if (rule->kind != SAME) {
			caller.known[i] = false;
		}
	}
	caller.value[RSP] = cfa;
	caller.known[RSP] = true;
	*r = caller;
	return 1;
}

static bool walk(struct ct_space *s, struct stack *k, struct registers *r, struct ct_unwind *to)
{
	to->lost = NULL;
	for (to->count = 0; to->count < CT_UNWIND_DEPTH;) {
		uint64_t pc = r->value[PC] - (to->count ? 1 : 0);
		const struct ct_space_module *m = ct_space_code_at(s, pc);
		struct row row;
		int next;

		if (pc >= FAR || !m || !find_row(s, m, pc, &row)) {
			if (!m || !m->eh_frame_hdr || m == &s->modules[s->program])
				to->lost = m ? m->name : "no file (a JIT compiler's)";
			return false;
		}
		to->pc[to->count] = pc;
		to->begin[to->count] = row.begin;
		to->kind[to->count++] = m->kind;
		next = step(k, &row, r);
		if (next <= 0)
			return !next;
	}
	return false;
}

bool ct_unwind(struct ct_space *s, const struct user_regs_struct *regs, struct ct_unwind *to)
{
	static unsigned char *room;
	const struct ct_space_map *map = ct_space_map_at(s, regs->rsp);
	struct registers r = {
		.value = { regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
			   regs->rbp, regs->rsp, regs->r8, regs->r9, regs->r10, regs->r11,
			   regs->r12, regs->r13, regs->r14, regs->r15, regs->rip },
	};
	struct stack k = { .s = s, .from = regs->rsp - 128, .end = regs->rsp - 128, .bytes = room };
	bool whole;

	if (!map || regs->rsp - 128 < map->start)
		return false;
	memset(r.known, true, sizeof(r.known));
	k.limit = map->end;
	whole = walk(s, &k, &r, to);
	room = k.bytes;
	return whole;
}
