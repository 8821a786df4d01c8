/* SPDX-License-Identifier: BSD-3-Clause */
/* DWARF expressions in call frame information: operations, bounds. */
#include "harness.h"

#include "unwind/signal/unwind_signal.h"

#define BYTES(s) (const uint8_t *)(s), sizeof(s) - 1

static uint64_t memory[4] = { 0x1122334455667788, 2, 3, 4 };

/* The expression, its length in front, with 5 on the stack at the start. */
static enum cp_cfi_result eval(const uint8_t *ops, size_t n, uint64_t *v)
{
	struct cp_cfi_frame f = { .known = 1u << 3 | 1u << 16 };
	uint8_t bytes[300] = { (uint8_t)(n | 0x80), (uint8_t)(n >> 7) };
	struct cp_cfi_cursor c = { .p = bytes, .end = bytes + 2 + n };
	uint64_t five = 5;

	memcpy(bytes + 2, ops, n);
	f.regs.r[3] = (uint64_t)memory;
	f.regs.r[16] = 7;
	return cp_cfi_expr(c, &f, &five, v);
}

TEST(test_operations)
{
	static const struct {
		const uint8_t *ops;
		size_t n;
		uint64_t want;
	} cases[] = {
		{ BYTES(""), 5 },
		{ BYTES("\060"), 0 },
		{ BYTES("\117"), 31 },
		{ BYTES("\003\1\2\0\0\0\0\0\0"), 0x201 },
		{ BYTES("\010\377"), 255 },
		{ BYTES("\011\377"), UINT64_MAX },
		{ BYTES("\012\377\377"), 65535 },
		{ BYTES("\013\376\377"), UINT64_MAX - 1 },
		{ BYTES("\014\377\377\377\377"), 0xffffffff },
		{ BYTES("\015\377\377\377\377"), UINT64_MAX },
		{ BYTES("\016\377\377\377\377\377\377\377\177"), INT64_MAX },
		{ BYTES("\020\200\001"), 128 },
		{ BYTES("\021\177"), UINT64_MAX },
		{ BYTES("\163\0\006"), 0x1122334455667788 }, /* breg3 0; deref */
		{ BYTES("\222\3\010\006"), 2 },		     /* bregx 3, 8; deref */
		{ BYTES("\163\0\224\1"), 0x88 },	     /* deref_size 1 */
		{ BYTES("\163\0\224\4"), 0x55667788 },	     /* deref_size 4 */
		{ BYTES("\200\1"), 8 },			     /* breg16 1 */
		{ BYTES("\022\042"), 10 },		     /* dup; plus */
		{ BYTES("\061\023"), 5 },		     /* lit1; drop */
		{ BYTES("\061\024"), 5 },		     /* lit1; over */
		{ BYTES("\061\062\025\2"), 5 },		     /* pick 2 */
		{ BYTES("\061\026\034"), (uint64_t)1 - 5 },  /* swap; minus */
		{ BYTES("\062\063\027\034"), 5 - 2 },	     /* rot: 3 5 2; minus */
		{ BYTES("\037"), (uint64_t)-5 },
		{ BYTES("\037\031"), 5 },
		{ BYTES("\040"), ~UINT64_C(5) },
		{ BYTES("\063\032"), 1 },
		{ BYTES("\062\041"), 7 },
		{ BYTES("\063\047"), 6 },
		{ BYTES("\062\033"), 2 },
		{ BYTES("\037\062\033"), (uint64_t)-2 }, /* division is signed */
		{ BYTES("\003\0\0\0\0\0\0\0\200\021\177\033"), UINT64_C(1) << 63 },
		{ BYTES("\063\035"), 2 },
		{ BYTES("\063\036"), 15 },
		{ BYTES("\043\003"), 8 },
		{ BYTES("\062\044"), 20 },
		{ BYTES("\061\045"), 2 },
		{ BYTES("\037\061\046"), (uint64_t)-3 },
		{ BYTES("\010\100\044"), 0 }, /* a shift by 64 */
		{ BYTES("\037\010\100\046"), UINT64_MAX },
		{ BYTES("\065\051"), 1 },
		{ BYTES("\066\052"), 0 },
		{ BYTES("\064\053"), 1 },
		{ BYTES("\065\054"), 1 },
		{ BYTES("\065\055"), 0 },
		{ BYTES("\065\056"), 0 },
		{ BYTES("\037\060\055"), 1 },			    /* comparison is signed */
		{ BYTES("\057\1\0\060\226"), 5 },		    /* skip over lit0; nop */
		{ BYTES("\061\050\1\0\060"), 5 },		    /* bra taken */
		{ BYTES("\060\050\1\0\061"), 1 },		    /* bra not taken */
		{ BYTES("\060\043\1\022\065\055\050\370\377"), 5 }, /* a loop, five times */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t v = 99;

		CHECK_EQ(eval(cases[i].ops, cases[i].n, &v), CP_CFI_STEPPED);
		if (v != cases[i].want)
			printf("# case %u: op 0x%02x\n", i, cases[i].ops[0]);
		CHECK_EQ(v, cases[i].want);
	}
}

TEST(test_what_can_not_be_evaluated_is_lost)
{
	static const struct {
		const uint8_t *ops;
		size_t n;
		enum cp_cfi_result want;
	} cases[] = {
		{ BYTES("\023"), CP_CFI_LOST }, /* nothing is left */
		{ BYTES("\023\023"), CP_CFI_LOST },
		{ BYTES("\042"), CP_CFI_LOST }, /* one operand only */
		{ BYTES("\025\1"), CP_CFI_LOST },
		{ BYTES("\060\033"), CP_CFI_LOST }, /* 5 / 0 */
		{ BYTES("\060\035"), CP_CFI_LOST },
		{ BYTES("\060\006"), CP_CFI_LOST },	/* at address 0 */
		{ BYTES("\021\177\006"), CP_CFI_LOST }, /* at the last address */
		{ BYTES("\163\0\224\0"), CP_CFI_LOST },
		{ BYTES("\163\0\224\011"), CP_CFI_LOST },
		{ BYTES("\160\0"), CP_CFI_UNKNOWN },	  /* a register not known */
		{ BYTES("\222\200\001\0"), CP_CFI_LOST }, /* a register there is not */
		{ BYTES("\057\375\377"), CP_CFI_LOST },	  /* for ever */
		{ BYTES("\057\374\377"), CP_CFI_LOST },	  /* to before the begin */
		{ BYTES("\057\1\0"), CP_CFI_LOST },	  /* to after the end */
		{ BYTES("\010"), CP_CFI_LOST },		  /* the operand is cut */
		{ BYTES("\003\1\2"), CP_CFI_LOST },
		{ BYTES("\001"), CP_CFI_LOST }, /* no such operation */
		{ BYTES("\377"), CP_CFI_LOST },
		{ BYTES("\022\022\022\022\022\022\022\022\022\022\022\022\022\022\022\022"),
		  CP_CFI_LOST }, /* too deep */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t v = 99;

		CHECK_EQ(eval(cases[i].ops, cases[i].n, &v), cases[i].want);
		CHECK_EQ(v, 99);
	}
}

TEST(test_length_behind_the_end_is_lost)
{
	static const uint8_t bytes[] = { 5, 0x30 };
	struct cp_cfi_cursor c = { .p = bytes, .end = bytes + sizeof(bytes) };
	struct cp_cfi_frame f = { 0 };
	uint64_t v = 99;

	CHECK_EQ(cp_cfi_expr(c, &f, NULL, &v), CP_CFI_LOST);
	CHECK_EQ(v, 99);
}
