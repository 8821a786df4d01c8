/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the program of a line table, and finds the row that covers each address.
 *
 * No row is stored: the addresses are sorted, and those between two rows are answered when the
 * program passes these rows.
 */
#include <dwarf.h>

#include "dwarf/dwarf.h"

struct machine {
	const struct ct_dw_lines *l;
	struct ct_dw_cursor c;
	struct ct_dw_row *rows; /* queries */
	size_t left;		/* queries without an answer */
	size_t count, next;	/* NEXT: within a sequence, the first query at or after ADDRESS */
	uint64_t address, op_index;
	unsigned file, line, column, discriminator;
	bool in_sequence; /* this sequence has an earlier row */
	bool live;	  /* the sequence describes code that the linker kept */
	struct {
		uint64_t address;
		unsigned file, line, column, discriminator;
	} last;
};

static void reset(struct machine *m)
{
	m->address = m->op_index = 0;
	m->file = m->line = 1;
	m->column = m->discriminator = 0;
	m->in_sequence = false;
}

/* Handles a new row: the addresses between the last row and this one belong to the last row. */
static void emit(struct machine *m)
{
	if (!m->in_sequence || m->address < m->last.address) {
		m->next = ct_dw_first(m->rows, m->count, sizeof(*m->rows), m->address);
		m->live = m->address >= m->l->unit->file->text_low;
	}
	for (; m->in_sequence && m->next < m->count && m->rows[m->next].address < m->address;
	     m->next++) {
		struct ct_dw_row *r = &m->rows[m->next];

		if (r->found || !m->live)
			continue;
		r->found = true;
		m->left--;
		r->file = m->last.file;
		r->line = m->last.line;
		r->column = m->last.column;
		r->discriminator = m->last.discriminator;
	}
	m->in_sequence = true;
	m->last.address = m->address;
	m->last.file = m->file;
	m->last.line = m->line;
	m->last.column = m->column;
	m->last.discriminator = m->discriminator;
	m->discriminator = 0;
}

static void advance_address(struct machine *m, uint64_t operations)
{
	const struct ct_dw_lines *l = m->l;

	if (l->max_ops == 1) {
		m->address += operations * l->min_length;
		return;
	}
	m->address += l->min_length * ((m->op_index + operations) / l->max_ops);
	m->op_index = (m->op_index + operations) % l->max_ops;
}

static void run_extended(struct machine *m)
{
	uint64_t size = ct_dw_uleb(&m->c);
	const uint8_t *end;

	if (!size || !ct_dw_has(&m->c, size))
		return;
	end = m->c.p + size;
	switch (ct_dw_uint(&m->c, 1)) {
	case DW_LNE_end_sequence:
		emit(m);
		reset(m);
		break;
	case DW_LNE_set_address:
		m->address = ct_dw_uint(&m->c, size - 1 < 8 ? (unsigned)size - 1 : 8);
		m->op_index = 0;
		break;
	case DW_LNE_set_discriminator: m->discriminator = (unsigned)ct_dw_uleb(&m->c); break;
	default: break;
	}
	m->c.p = end;
}

static void skip_unknown(struct machine *m, uint8_t op)
{
	for (unsigned n = m->l->operands[op - 1]; n; n--)
		ct_dw_uleb(&m->c);
}

static void run_standard(struct machine *m, uint8_t op)
{
	const struct ct_dw_lines *l = m->l;

	switch (op) {
	case DW_LNS_copy: emit(m); break;
	case DW_LNS_advance_pc: advance_address(m, ct_dw_uleb(&m->c)); break;
	case DW_LNS_advance_line: m->line += (unsigned)ct_dw_sleb(&m->c); break;
	case DW_LNS_set_file: m->file = (unsigned)ct_dw_uleb(&m->c); break;
	case DW_LNS_set_column: m->column = (unsigned)ct_dw_uleb(&m->c); break;
	case DW_LNS_const_add_pc:
		advance_address(m, (255u - l->opcode_base) / l->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		m->address += ct_dw_uint(&m->c, 2);
		m->op_index = 0;
		break;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin: break;
	default: skip_unknown(m, op);
	}
}

static void run_special(struct machine *m, uint8_t op)
{
	const struct ct_dw_lines *l = m->l;
	unsigned adjusted = op - (unsigned)l->opcode_base;

	advance_address(m, adjusted / l->line_range);
	m->line += (unsigned)(l->line_base + (int)(adjusted % l->line_range));
	emit(m);
}

void ct_dwarf_rows_find(const struct ct_dw_lines *l, struct ct_dw_row *rows, size_t n)
{
	struct machine m = { .l = l, .c = l->program, .rows = rows, .left = n, .count = n };

	reset(&m);
	ct_dwarf_elf_will_read(m.c.p, (size_t)(m.c.end - m.c.p));
	while (m.left && m.c.p < m.c.end && !m.c.bad) {
		uint8_t op = *m.c.p++;

		if (op >= l->opcode_base)
			run_special(&m, op);
		else if (!op)
			run_extended(&m);
		else
			run_standard(&m, op);
	}
}
