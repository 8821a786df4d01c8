/* SPDX-License-Identifier: BSD-3-Clause */
/* x86_64 instructions: their length, and their effect on the stack pointer; see cfi_insn.h.
 *
 * The tables have one letter per opcode, which describes the bytes after it.
 */
#include "unwind/guess/cfi_insn.h"

#if defined(__x86_64__)

#include "unwind/signal/cfi_arch.h"

/* X: no instruction, or none that is read here  N: nothing  M: ModRM and operands
 * B: 1 byte  W: 2 bytes  Z: 4 (2 with 66)  L: 4  V: 4 (2 with 66, 8 with REX.W)  O: an address
 * b: M and B  z: M and Z  g, G: M, and B or Z of the first two in the group  E: 3 bytes */
static const char one_byte[] = "MMMMBZXXMMMMBZXX"  /* 00 */
			       "MMMMBZXXMMMMBZXX"  /* 10 */
			       "MMMMBZXXMMMMBZXX"  /* 20 */
			       "MMMMBZXXMMMMBZXX"  /* 30 */
			       "XXXXXXXXXXXXXXXX"  /* 40 */
			       "NNNNNNNNNNNNNNNN"  /* 50 */
			       "XXXMXXXXZzBbNNNN"  /* 60 */
			       "BBBBBBBBBBBBBBBB"  /* 70 */
			       "bzXbMMMMMMMMMMMM"  /* 80 */
			       "NNNNNNNNNNXNNNNN"  /* 90 */
			       "OOOONNNNBZNNNNNN"  /* a0 */
			       "BBBBBBBBVVVVVVVV"  /* b0 */
			       "bbWNXXbzENWNNBXN"  /* c0 */
			       "MMMMXXXNMMMMMMMM"  /* d0 */
			       "BBBBBBBBLLXBNNNN"  /* e0 */
			       "XNXXNNgGNNNNNNMM"; /* f0 */

/* Opcodes after 0f. */
static const char two_bytes[] = "MMMMXNNNNNXNXMNb"  /* 00 */
				"MMMMMMMMMMMMMMMM"  /* 10 */
				"MMMMXXXXMMMMMMMM"  /* 20 */
				"NNNNNNXNXXXXXXXX"  /* 30 */
				"MMMMMMMMMMMMMMMM"  /* 40 */
				"MMMMMMMMMMMMMMMM"  /* 50 */
				"MMMMMMMMMMMMMMMM"  /* 60 */
				"bbbbMMMNXMXXMMMM"  /* 70 */
				"LLLLLLLLLLLLLLLL"  /* 80 */
				"MMMMMMMMMMMMMMMM"  /* 90 */
				"NNNMbMXXNNNMbMMM"  /* a0 */
				"MMMMMMMMMMbMMMMM"  /* b0 */
				"MMbMbbbMNNNNNNNN"  /* c0 */
				"MMMMMMMMMMMMMMMM"  /* d0 */
				"MMMMMMMMMMMMMMMM"  /* e0 */
				"MMMMMMMMMMMMMMMM"; /* f0 */

#define REX_B 1
#define REX_X 2
#define REX_R 4
#define REX_W 8

#define SP 4 /* number of sp in an instruction */

/* Number of prefixes in the longest nop that fills the end of a function. They are followed by REX
 * and the longest possible rest: 4 bytes up to the opcode, ModRM, SIB, two numbers. */
#define PREFIXES 7
_Static_assert(PREFIXES + 1 + 4 + 2 + 4 + 4 < CP_INSN_BYTES, "all of an instruction can be read");

struct parts {
	const uint8_t *modrm; /* followed by the operand's further bytes */
	const uint8_t *end, *immediate;
	uint8_t op, rex;
	bool short_operands; /* prefix 66 */
	bool short_address;  /* prefix 67 */
	bool operands;
};

static bool is_prefix(uint8_t c)
{
	return c == 0x66 || c == 0x67 || c == 0xf0 || c == 0xf2 || c == 0xf3 || c == 0x2e ||
	       c == 0x36 || c == 0x3e || c == 0x26 || c == 0x64 || c == 0x65;
}

/* Has the instruction operands of 2 bytes? */
static bool is_short(const struct parts *p)
{
	return p->short_operands && !(p->rex & REX_W);
}

/* Returns the size of the immediate of an instruction with FORM, and GROUP in its ModRM byte. */
static unsigned immediate(const struct parts *p, char form, unsigned group)
{
	unsigned z = is_short(p) ? 2 : 4;

	switch (form) {
	case 'B':
	case 'b': return 1;
	case 'W': return 2;
	case 'E': return 3;
	case 'L': return 4;
	case 'Z':
	case 'z': return z;
	case 'V': return p->rex & REX_W ? 8 : z;
	case 'O': return p->short_address ? 4 : 8;
	case 'g': return group < 2;
	case 'G': return group < 2 ? z : 0;
	default: return 0;
	}
}

/* Parse the bytes after the opcode, at AT. */
static bool take_operands(struct parts *p, const uint8_t *at, char form)
{
	unsigned group = 0;

	if (form == 'X')
		return false;
	if (form == 'M' || form == 'b' || form == 'z' || form == 'g' || form == 'G') {
		p->modrm = at;
		p->operands = true;
		group = at[0] >> 3 & 7;
		at += cp_cfi_modrm_bytes(at);
	}
	p->immediate = at;
	p->end = at + immediate(p, form, group);
	return true;
}

/* Parse vector instructions of AVX, AVX-512 and XOP: their map, opcode and operands. */
static bool take_vector(struct parts *p, const uint8_t *at)
{
	unsigned map = at[0] == 0xc5 ? 1 : at[1] & (at[0] == 0x62 ? 7 : 0x1f);
	const uint8_t *op = at + (at[0] == 0xc5 ? 2 : at[0] == 0x62 ? 4 : 3);
	char form = 'M';

	if (map == 1)
		form = *op == 0x77 && at[0] != 0x62 ? 'N' : two_bytes[*op] == 'b' ? 'b' : 'M';
	else if (map == 3 || map == 8)
		form = 'b';
	else if (map == 10)
		form = 'z';
	else if (map != 2 && map != 5 && map != 6 && map != 9)
		form = 'X';
	p->op = *op;
	return take_operands(p, op + 1, form);
}

static bool is_vector(const uint8_t *at)
{
	return at[0] == 0xc4 || at[0] == 0xc5 || at[0] == 0x62 ||
	       (at[0] == 0x8f && (at[1] & 0x1f) >= 8);
}

static bool is_register(const struct parts *p)
{
	return p->modrm[0] >= 0xc0;
}

/* Is the register operand sp? The next function: is the other operand sp? */
static bool reg_is_sp(const struct parts *p)
{
	return (p->modrm[0] >> 3 & 7) == SP && !(p->rex & REX_R);
}

static bool rm_is_sp(const struct parts *p)
{
	return is_register(p) && (p->modrm[0] & 7) == SP && !(p->rex & REX_B);
}

static int32_t signed_byte(uint8_t b)
{
	return b < 0x80 ? b : b - 0x100;
}

/* Is the operand n(%rsp)? Then sets *N. */
static bool is_on_stack(const struct parts *p, int32_t *n)
{
	const uint8_t *m = p->modrm;

	if (is_register(p) || (m[0] & 7) != SP || p->rex & (REX_B | REX_X) || p->short_address ||
	    (m[1] & 0x3f) != 0x24)
		return false;
	*n = 0;
	if (m[0] >> 6 == 1)
		*n = signed_byte(m[2]);
	else if (m[0] >> 6 == 2)
		__builtin_memcpy(n, m + 2, sizeof(*n));
	return true;
}

static int32_t value(const struct parts *p)
{
	int32_t v;

	if (p->end - p->immediate == 1)
		return signed_byte(p->immediate[0]);
	if (p->end - p->immediate != sizeof(v))
		return 0;
	__builtin_memcpy(&v, p->immediate, sizeof(v));
	return v;
}

static struct cp_insn does(enum cp_insn_kind kind, int32_t by)
{
	return (struct cp_insn){ .kind = (uint8_t)kind, .by = by };
}

static struct cp_insn if_else(bool condition, enum cp_insn_kind then, enum cp_insn_kind otherwise)
{
	return does(condition ? then : otherwise, 0);
}

/* Is sp the result of an instruction of the first map, in its register operand or in the other? A
 * byte operand is part of sp only with REX; without REX, it is ah. */
static bool result_is_sp(const struct parts *p)
{
	uint8_t op = p->op;
	bool word = op & 1 || p->rex;

	if (!p->operands)
		return false;
	if (op < 0x38)
		return word && (op & 2 ? reg_is_sp(p) : rm_is_sp(p));
	switch (op) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8a:
	case 0x8b:
	case 0x8d: return (word || op == 0x63) && reg_is_sp(p);
	case 0x86:
	case 0x87: return word && (reg_is_sp(p) || rm_is_sp(p));
	case 0x80:
	case 0x81:
	case 0x83:
	case 0x88:
	case 0x89:
	case 0x8c:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xf6:
	case 0xf7:
	case 0xfe: return (word || op == 0x8c) && rm_is_sp(p);
	default: return false;
	}
}

/* add, sub and cmp of a number and sp. */
static struct cp_insn sp_and_number(const struct parts *p)
{
	unsigned group = p->modrm[0] >> 3 & 7;

	if (group == 7)
		return does(CP_INSN_PLAIN, 0);
	if (!(p->rex & REX_W) || (group != 0 && group != 5) || value(p) == INT32_MIN)
		return does(CP_INSN_OTHER, 0);
	return does(CP_INSN_MOVES, group == 0 ? value(p) : -value(p));
}

/* mov and lea between the stack and registers. */
static struct cp_insn move(const struct parts *p)
{
	unsigned reg = (p->modrm[0] >> 3 & 7) | (p->rex & REX_R ? 8 : 0);
	struct cp_insn i = does(CP_INSN_OTHER, 0);
	bool on_stack = is_on_stack(p, &i.by), wide = p->rex & REX_W;

	i.reg = (uint8_t)cp_cfi_number(reg);
	if (p->op == 0x8d)
		return !reg_is_sp(p) ? does(CP_INSN_PLAIN, 0)
				     : does(wide && on_stack ? CP_INSN_MOVES : CP_INSN_OTHER, i.by);
	if (p->op == 0x89) {
		i.kind = rm_is_sp(p) ? CP_INSN_OTHER : on_stack ? CP_INSN_STORES : CP_INSN_PLAIN;
		if (!wide)
			i.reg = 0;
		return i;
	}
	if (on_stack && wide)
		i.kind = CP_INSN_READS;
	/* A callee-saved register, loaded from a frame that is addressed by the frame pointer. */
	else if (!reg_is_sp(p) && !(!is_register(p) && (p->modrm[0] & 7) == 5 && p->modrm[0] >> 6 &&
				    !(p->rex & REX_B) && CP_CFI_CALLEE_SAVED >> i.reg & 1))
		return does(CP_INSN_PLAIN, 0);
	return i;
}

static struct cp_insn group_of_ff(const struct parts *p)
{
	switch (p->modrm[0] >> 3 & 7) {
	case 0:
	case 1: return if_else(rm_is_sp(p), CP_INSN_OTHER, CP_INSN_PLAIN);
	case 2: return if_else(is_short(p), CP_INSN_OTHER, CP_INSN_CALLS);
	case 6: return does(p->short_operands ? CP_INSN_OTHER : CP_INSN_PUSHES, -8);
	default: return does(CP_INSN_OTHER, 0);
	}
}

static struct cp_insn of_one_byte(const struct parts *p)
{
	unsigned reg = (p->op & 7) | (p->rex & REX_B ? 8 : 0);
	struct cp_insn i;

	switch (p->op) {
	case 0x50 ... 0x57:
		i = does(p->short_operands ? CP_INSN_OTHER : CP_INSN_PUSHES, -8);
		i.reg = (uint8_t)cp_cfi_number(reg);
		return i;
	case 0x68:
	case 0x6a:
	case 0x9c: return does(p->short_operands ? CP_INSN_OTHER : CP_INSN_PUSHES, -8);
	case 0x58 ... 0x5f:
		i = does(p->short_operands || reg == SP ? CP_INSN_OTHER : CP_INSN_POPS, 8);
		i.reg = (uint8_t)cp_cfi_number(reg);
		return i;
	case 0x9d: return does(p->short_operands ? CP_INSN_OTHER : CP_INSN_MOVES, 8);
	case 0x94: return if_else(reg == SP, CP_INSN_OTHER, CP_INSN_PLAIN);
	case 0xbc: return if_else(reg == SP, CP_INSN_OTHER, CP_INSN_PLAIN);
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3: return does(CP_INSN_PLAIN, value(p));
	case 0x89:
	case 0x8b:
	case 0x8d: return move(p);
	case 0x81:
	case 0x83: return rm_is_sp(p) ? sp_and_number(p) : does(CP_INSN_PLAIN, 0);
	/* With prefix 66, the processors of one maker use 2 bytes, those of others all. */
	case 0xe8: return if_else(is_short(p), CP_INSN_OTHER, CP_INSN_CALLS);
	case 0xe9:
	case 0xeb: return does(is_short(p) ? CP_INSN_OTHER : CP_INSN_JUMPS, value(p));
	case 0xc3: return if_else(is_short(p), CP_INSN_OTHER, CP_INSN_RETURNS);
	case 0xff: return group_of_ff(p);
	case 0x8f: /* pop to memory */
	case 0xc2:
	case 0xc8 ... 0xcf: /* returns and traps of other kinds; enter, leave */
	case 0xf1:
	case 0xf4: return does(CP_INSN_OTHER, 0);
	default: return if_else(result_is_sp(p), CP_INSN_OTHER, CP_INSN_PLAIN);
	}
}

static struct cp_insn of_two_bytes(const struct parts *p)
{
	switch (p->op) {
	case 0x0b:
	case 0xb9:
	case 0xff: return does(CP_INSN_OTHER, 0); /* undefined instruction: the code ends there */
	case 0x80 ... 0x8f: return does(is_short(p) ? CP_INSN_OTHER : CP_INSN_PLAIN, value(p));
	case 0xa0:
	case 0xa8: return does(p->short_operands ? CP_INSN_OTHER : CP_INSN_PUSHES, -8);
	case 0xa1:
	case 0xa9: return does(p->short_operands ? CP_INSN_OTHER : CP_INSN_MOVES, 8);
	case 0x02:
	case 0x03:
	case 0x2c:
	case 0x2d:
	case 0x40 ... 0x4f:
	case 0x50:
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf:
	case 0xc5:
	case 0xd7: return if_else(reg_is_sp(p), CP_INSN_OTHER, CP_INSN_PLAIN);
	case 0x7e:
	case 0xa4:
	case 0xa5:
	case 0xab ... 0xad:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xba:
	case 0xbb:
	case 0xc7: return if_else(rm_is_sp(p), CP_INSN_OTHER, CP_INSN_PLAIN);
	case 0xc0:
	case 0xc1: return if_else(reg_is_sp(p) || rm_is_sp(p), CP_INSN_OTHER, CP_INSN_PLAIN);
	case 0xcc: return if_else(!(p->rex & REX_B), CP_INSN_OTHER, CP_INSN_PLAIN);
	default: return does(CP_INSN_PLAIN, 0);
	}
}

/* Parse the opcode at AT and the bytes after it. */
static struct cp_insn read_opcode(struct parts *p, const uint8_t *at)
{
	if (is_vector(at))
		return if_else(take_vector(p, at), CP_INSN_PLAIN, CP_INSN_OTHER);
	p->op = *at;
	if (*at != 0x0f)
		return take_operands(p, at + 1, one_byte[*at]) ? of_one_byte(p)
							       : does(CP_INSN_OTHER, 0);
	p->op = *++at;
	if (*at == 0x38 || *at == 0x3a)
		return if_else(take_operands(p, at + 2, *at == 0x38 ? 'M' : 'b'), CP_INSN_PLAIN,
			       CP_INSN_OTHER);
	return take_operands(p, at + 1, two_bytes[*at]) ? of_two_bytes(p) : does(CP_INSN_OTHER, 0);
}

struct cp_insn cp_cfi_insn_read(const uint8_t *code)
{
	struct parts p = { .modrm = code, .end = code };
	const uint8_t *at = code;
	struct cp_insn i;

	for (; at < code + PREFIXES && is_prefix(*at); at++) {
		p.short_operands |= *at == 0x66;
		p.short_address |= *at == 0x67;
	}
	if ((*at & 0xf0) == 0x40)
		p.rex = *at++;
	i = read_opcode(&p, at);
	i.size = (uint8_t)(p.end - code);
	return i;
}

bool cp_cfi_insn_fills(const uint8_t *code)
{
	for (unsigned n = 0; n < PREFIXES && (*code == 0x66 || *code == 0x2e); n++)
		code++;
	return *code == 0x90 || *code == 0xcc || (code[0] == 0x0f && code[1] == 0x1f);
}

#else

/* On an architecture whose calls leave the return address in a register, nothing needs to be read.
 */
struct cp_insn cp_cfi_insn_read(const uint8_t *code)
{
	return (struct cp_insn){ .kind = CP_INSN_OTHER };
}

bool cp_cfi_insn_fills(const uint8_t *code)
{
	return false;
}

#endif
