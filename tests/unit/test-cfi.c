/* SPDX-License-Identifier: BSD-3-Clause */
/* Call frame information: tables, instructions, steps. */
#include "harness.h"

#include "cfi-image.h"

static struct image image;
static struct cp_cfi_fde fde;
static struct cp_cfi_row row;

/* The row OFFSET bytes into code described by PROGRAM, under the usual CIE. */
static int row_of(const void *program, size_t size, uint64_t offset)
{
	image_make(&image, BYTES(CIE_HEAD), BYTES(CIE_PROGRAM), program, size);
	if (!cp_cfi_table_find(&image.module, image_code(&image) + offset, NULL, &fde))
		return -1000;
	return cp_cfi_row(&fde, image_code(&image) + offset, &row);
}
#define ROW(program, offset) row_of(BYTES(program), offset)

static uint32_t rule(unsigned reg)
{
	return row.rules[cp_cfi_column(reg)];
}

static void check_rule(uint32_t r, int kind, int value)
{
	CHECK_EQ(CP_CFI_KIND(r), kind);
	CHECK_EQ(CP_CFI_VALUE(r), value);
}

TEST(test_fde_is_found_in_its_range)
{
	uint64_t code;

	CHECK_EQ(ROW("", 0), 0);
	code = image_code(&image);
	CHECK(cp_cfi_table_find(&image.module, code + CODE_SIZE - 1, NULL, &fde));
	CHECK_EQ(fde.start, code);
	CHECK(!cp_cfi_table_find(&image.module, code + CODE_SIZE, NULL, &fde));
	CHECK(!cp_cfi_table_find(&image.module, code - 1, NULL, &fde));
	CHECK(!cp_cfi_table_find(&image.module, 0, NULL, &fde));
	CHECK(!cp_cfi_table_find(&image.module, UINT64_MAX, NULL, &fde));
}

/* Returns the copy's result for PC, unless the copy doesn't hold all of that: 1 = the module gives
 * the same result. */
static unsigned compare_with_copy(const struct cp_cfi_module *m, uint64_t pc)
{
	struct cp_cfi_copy copy;
	struct cp_cfi_fde copied;
	struct cp_cfi_row of_copy;
	struct cp_cfi_span span, span_of_copy;

	if (!cp_cfi_table_find(m, pc, &copy, &copied) ||
	    cp_cfi_row_and_span(&copied, pc, &of_copy, &span_of_copy))
		return 0;
	CHECK(cp_cfi_table_find(m, pc, NULL, &fde));
	CHECK_EQ(cp_cfi_row_and_span(&fde, pc, &row, &span), 0);
	CHECK_EQ(fde.start, copied.start);
	CHECK_EQ(fde.signal, copied.signal);
	CHECK_EQ(fde.ra_column, copied.ra_column);
	CHECK_EQ(span.from, span_of_copy.from);
	CHECK_EQ(span.to, span_of_copy.to);
	CHECK(!memcmp(&row, &of_copy, sizeof(row)));
	return 1;
}

/* Libc has all kinds. */
TEST(test_a_copy_says_what_the_module_says)
{
	unsigned same = 0, all = 0;
	struct cp_cfi_module m;
	const int32_t *entry;
	uint32_t count;
	uint64_t size;

	CHECK_EQ(cp_cfi_modules_prepare(), 0);
	CHECK(cp_cfi_module_find((uint64_t)&memcpy, &m) && m.hdr);
	memcpy(&count, (const char *)m.hdr + 8, sizeof(count));
	entry = (const int32_t *)(m.hdr + 12);
	for (; count; count--, entry += 2) {
		uint64_t start = m.hdr + (uint64_t)(int64_t)entry[0];

		if (!cp_cfi_table_parse(&m, m.hdr + (uint64_t)(int64_t)entry[1], NULL, &fde, &size))
			continue;
		for (unsigned i = 0; i < 4; i++, all++)
			same += compare_with_copy(&m, start + size * i / 4);
	}
	printf("# %u of %u places\n", same, all);
	if (!same)
		SKIP("process_vm_readv is refused");
	CHECK(same > all / 2);
}

/* More instructions than a copy holds: whoever wants the end of them gets an error. */
TEST(test_cut_copy_is_noticed)
{
	static uint8_t program[600];
	struct cp_cfi_copy copy;

	for (unsigned i = 0; i + 2 < sizeof(program); i += 3)
		memcpy(program + i, "\101\016\010", 3);
	row_of(program, sizeof(program), 0);
	if (!cp_cfi_table_find(&image.module, image_code(&image) + 10, &copy, &fde))
		SKIP("process_vm_readv is refused");
	CHECK_EQ(cp_cfi_row(&fde, fde.start + 10, &row), 0);
	CHECK(cp_cfi_row(&fde, fde.start + 190, &row) < 0);
}

TEST(test_rows_follow_the_location)
{
	static const char program[] = "\101\016\020"		      /* +1: offset 16 */
				      "\002\003\016\030"	      /* +4: offset 24 */
				      "\003\004\000\016\040"	      /* +8: offset 32 */
				      "\004\002\000\000\000\016\050"; /* +10: offset 40 */
	static const struct {
		unsigned at;
		int offset;
	} want[] = {
		{ 1, 16 }, { 3, 16 }, { 4, 24 }, { 7, 24 }, { 8, 32 }, { 10, 40 }, { 99, 40 }
	};

	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		CHECK_EQ(row_of(BYTES(program), want[i].at), 0);
		CHECK_EQ(row.cfa_offset, want[i].offset);
		check_rule(row.cfa, CP_CFI_REGISTER, CP_REG_SP);
	}
}

#if defined(__x86_64__)

TEST(test_register_instructions)
{
	CHECK_EQ(ROW("\206\002\203\003", 0), 0); /* offset rbp 2, rbx 3 */
	check_rule(rule(6), CP_CFI_OFFSET, -16);
	check_rule(rule(3), CP_CFI_OFFSET, -24);
	check_rule(rule(16), CP_CFI_OFFSET, -8);
	CHECK_EQ(rule(12), CP_CFI_UNSET);

	CHECK_EQ(ROW("\206\002\306\005\014\004\006\014", 0), 0); /* restore */
	CHECK_EQ(rule(6), CP_CFI_UNSET);
	CHECK_EQ(rule(12), CP_CFI_UNSET);

	CHECK_EQ(ROW("\007\020\010\006\011\003\014", 0), 0);
	check_rule(rule(16), CP_CFI_UNDEFINED, 0);
	check_rule(rule(6), CP_CFI_SAME, 0);
	check_rule(rule(3), CP_CFI_REGISTER, 12);

	CHECK_EQ(ROW("\021\006\176\024\014\002\025\015\175\057\003\004", 0), 0);
	check_rule(rule(6), CP_CFI_OFFSET, 16);
	check_rule(rule(12), CP_CFI_VAL_OFFSET, -16);
	check_rule(rule(13), CP_CFI_VAL_OFFSET, 24);
	check_rule(rule(3), CP_CFI_OFFSET, 32);

	CHECK_EQ(ROW("\005\021\002\056\020\000", 0), 0); /* xmm0; GNU_args_size; nop */
}

TEST(test_cfa_instructions)
{
	CHECK_EQ(ROW("\014\006\020", 0), 0);
	check_rule(row.cfa, CP_CFI_REGISTER, 6);
	CHECK_EQ(row.cfa_offset, 16);
	CHECK_EQ(ROW("\016\060\015\006", 0), 0);
	check_rule(row.cfa, CP_CFI_REGISTER, 6);
	CHECK_EQ(row.cfa_offset, 48);
	CHECK_EQ(ROW("\022\006\176", 0), 0); /* def_cfa_sf rbp, -2 * -8 */
	CHECK_EQ(row.cfa_offset, 16);
	CHECK_EQ(ROW("\023\174", 0), 0);
	CHECK_EQ(row.cfa_offset, 32);
	CHECK_EQ(ROW("\017\002\166\010", 0), 0); /* breg6 8 */
	CHECK_EQ(CP_CFI_KIND(row.cfa), CP_CFI_VAL_EXPR);
	CHECK(ROW("\017\002\166\010\016\010", 0) < 0); /* an offset to no register */
}

TEST(test_states_nest)
{
	CHECK_EQ(ROW("\016\020\012\016\030\206\002\012\016\040\013\101\013", 0), 0);
	CHECK_EQ(row.cfa_offset, 24);
	check_rule(rule(6), CP_CFI_OFFSET, -16);
	CHECK_EQ(ROW("\016\020\012\016\030\206\002\012\016\040\013\101\013", 1), 0);
	CHECK_EQ(row.cfa_offset, 16);
	CHECK_EQ(rule(6), CP_CFI_UNSET);
	CHECK(ROW("\013", 0) < 0);
	CHECK_EQ(ROW("\012\012", 0), 0);
}

/* To remember more states than there is room for changes nothing; to restore one of those does. */
TEST(test_states_that_nest_too_deep)
{
#define DOWN "\016\020\012\016\030\012\016\040\012\016\050\012\016\060"
	CHECK_EQ(ROW(DOWN, 0), 0);
	CHECK_EQ(row.cfa_offset, 48);
	CHECK(ROW(DOWN "\013", 0) < 0);
	CHECK_EQ(ROW(DOWN "\101\013", 0), 0);
	CHECK_EQ(row.cfa_offset, 48);
	CHECK(ROW(DOWN "\013\013", 0) < 0);
	CHECK(ROW(DOWN "\013\016\070", 0) < 0);
	CHECK_EQ(ROW(DOWN "\013\013\013", 0), 0);
	CHECK_EQ(row.cfa_offset, 24);
	CHECK_EQ(ROW(DOWN "\013\013\013\013", 0), 0);
	CHECK_EQ(row.cfa_offset, 16);
	CHECK(ROW(DOWN "\013\013\013\013\013", 0) < 0);
#undef DOWN
}

TEST(test_augmentations)
{
	static const struct {
		const char *head;
		size_t size;
		bool found, signal;
	} cases[] = {
		{ BYTES("\001zR\0\001\170\020\001\033"), true, false },
		{ BYTES("\003zR\0\001\170\020\001\033"), true, false },
		{ BYTES("\004zR\0\010\0\001\170\020\001\033"), true, false },
		{ BYTES("\001zRS\0\001\170\020\001\033"), true, true },
		{ BYTES("\001zPLR\0\001\170\020\007\233\1\2\3\4\033\033"), true, false },
		{ BYTES("\001zPLRS\0\001\170\020\014\000\1\2\3\4\5\6\7\10\033\033\0"), true, true },
		{ BYTES("\001zRx\0\001\170\020\002\033\7"), true, false },
		{ BYTES("\001eh\0\001\170\020"), false, false },
		{ BYTES("\007zR\0\001\170\020\001\033"), false, false },
		{ BYTES("\001zR\0\001\170\101\001\033"), false, false }, /* RA in column 65 */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		image_make(&image, cases[i].head, cases[i].size, BYTES(CIE_PROGRAM), BYTES("\101"));
		CHECK_EQ(cp_cfi_table_find(&image.module, image_code(&image), NULL, &fde),
			 cases[i].found);
		if (cases[i].found)
			CHECK_EQ(fde.signal, cases[i].signal);
	}
}

static uint64_t stack[64];

static void frame_at(struct cp_cfi_frame *f, unsigned word)
{
	memset(f, 0, sizeof(*f));
	for (unsigned i = 0; i < 64; i++)
		stack[i] = 0x1000 + i;
	f->known = CP_CFI_ALL_KNOWN;
	f->regs.r[CP_REG_SP] = (uint64_t)&stack[word];
	f->regs.r[CP_REG_FP] = (uint64_t)&stack[word + 8];
	f->regs.r[CP_CFI_RBX] = 77;
	cp_stackmem_init(&f->stack, (uint64_t)&stack[word], (uint64_t)stack,
			 (uint64_t)(stack + 64));
}

TEST(test_step_moves_to_the_caller)
{
	struct cp_cfi_frame f;

	frame_at(&f, 20);
	CHECK_EQ(ROW("\016\040\206\002", 0), 0);
	CHECK_EQ(cp_cfi_step(&f, &fde, &row), CP_CFI_STEPPED);
	CHECK_EQ(f.regs.r[CP_REG_SP], (uint64_t)&stack[24]);
	CHECK_EQ(f.regs.r[CP_REG_PC], 0x1000 + 23);
	CHECK_EQ(f.regs.r[CP_REG_FP], 0x1000 + 22);
	CHECK_EQ(f.regs.r[CP_CFI_RBX], 77);
	CHECK(!(f.known & 1)); /* rax does not outlive a call */
	CHECK(f.known >> 12 & 1);
}

TEST(test_step_by_expressions_and_registers)
{
	struct cp_cfi_frame f;

	frame_at(&f, 20); /* CFA = rbp + 16; rbx at CFA - 24 by expression; rbp = CFA - 8 */
	CHECK_EQ(ROW("\017\002\166\020\020\003\002\110\034\026\006\002\070\034", 0), 0);
	CHECK_EQ(cp_cfi_step(&f, &fde, &row), CP_CFI_STEPPED);
	CHECK_EQ(f.regs.r[CP_REG_SP], (uint64_t)&stack[30]);
	CHECK_EQ(f.regs.r[CP_CFI_RBX], 0x1000 + 27);
	CHECK_EQ(f.regs.r[CP_REG_FP], (uint64_t)&stack[29]);
}

TEST(test_step_without_what_it_needs)
{
	struct cp_cfi_frame f;

	frame_at(&f, 20);
	CHECK_EQ(ROW("\007\020", 0), 0);
	CHECK_EQ(cp_cfi_step(&f, &fde, &row), CP_CFI_OUTERMOST);

	f.known &= ~(UINT64_C(1) << 12);
	CHECK_EQ(ROW("\014\014\020", 0), 0); /* CFA = r12 + 16 */
	CHECK_EQ(cp_cfi_step(&f, &fde, &row), CP_CFI_UNKNOWN);

	f.regs.r[13] = 16;
	CHECK_EQ(ROW("\014\015\020", 0), 0); /* CFA = r13 + 16: nothing there */
	CHECK_EQ(cp_cfi_step(&f, &fde, &row), CP_CFI_UNKNOWN);
	CHECK_EQ(f.regs.r[CP_REG_SP], (uint64_t)&stack[20]);
}

#endif

TEST(test_frame_size_passes_over_what_leaves_sp_alone)
{
#ifdef __x86_64__
	/* push %rbp; mov %rsp, %rbp; push %r14; push %r13; push %r12; mov %rsi, %r12; push %rbx;
	 * sub $0x830, %rsp; lea (%rip), %rax */
	static const uint8_t scheduled[48] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0x56, 0x41, 0x55, 0x41,
					       0x54, 0x49, 0x89, 0xf4, 0x53, 0x48, 0x81, 0xec, 0x30,
					       0x08, 0x00, 0x00, 0x48, 0x8d, 0x05, 0x00 };
	/* endbr64; push %rbp; mov %rsp, %rbp; push %rbx; mov $1, %eax; movaps %xmm0, -0x20(%rbp);
	 * cmp $2, %edi; sub $0x28, %rsp */
	static const uint8_t mixed[48] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53,
					   0xb8, 0x01, 0x00, 0x00, 0x00, 0x0f, 0x29, 0x45, 0xe0,
					   0x83, 0xff, 0x02, 0x48, 0x83, 0xec, 0x28, 0xc3 };
	/* push %rbp; mov %rsp, %rbp; push %rbx; and $-32, %rsp: nobody knows how far */
	static const uint8_t aligned[48] = { 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83,
					     0xe4, 0xe0, 0x48, 0x83, 0xec, 0x28 };
	/* The same, but lea -0x40(%rbp), %rsp. */
	static const uint8_t moved[48] = { 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x8d,
					   0x65, 0xc0, 0x48, 0x83, 0xec, 0x28 };
	static const uint8_t none[48] = { 0x48, 0x83, 0xec, 0x28 };

	CHECK_EQ(cp_cfi_frame_size(scheduled, 48), 32 + 0x830);
	CHECK_EQ(cp_cfi_frame_size(mixed, 48), 8 + 0x28);
	CHECK_EQ(cp_cfi_frame_size(aligned, 48), 8);
	CHECK_EQ(cp_cfi_frame_size(moved, 48), 8);
	CHECK_EQ(cp_cfi_frame_size(none, 48), -1);
#endif
}

#ifdef __x86_64__
/* As operator delete[] jumps to operator delete, and that to free. */
__asm__(".text\n"
	"calls_jumps: call jumps\n"
	"after_call: ret\n"
	"jumps: endbr64\n jmp jumps_far\n"
	".skip 300\n"
	"jumps_far: jmp lands\n"
	"lands: ret\n");
extern const char after_call[], lands[];

TEST(test_a_function_that_jumps_on_was_not_called)
{
	CHECK_EQ(cp_cfi_code_called((uint64_t)(uintptr_t)after_call, false),
		 (uint64_t)(uintptr_t)lands);
	CHECK_EQ(cp_cfi_code_called((uint64_t)(uintptr_t)after_call, true),
		 (uint64_t)(uintptr_t)lands);
}
#endif

#ifdef __aarch64__
/* adrp x16, #0x1f000; ldr x17, [x16, #0xfe8], where branches need a landing pad after bti c. */
TEST(test_a_stub_of_the_plt_may_begin_with_a_landing_pad)
{
	static const uint32_t code[] = { 0xd503245f, 0xf00000f0, 0xf947f611, 0xd61f0220 };
	const uint8_t *with = (const uint8_t *)code, *without = with + 4;

	CHECK_EQ(cp_cfi_stub_slot(without, 0x10000), 0x2ffe8);
	CHECK_EQ(cp_cfi_stub_slot(with, 0x10000), 0x2ffe8);
	CHECK_EQ(cp_cfi_stub_slot(with, 0x10ffc), 0x30fe8);
	CHECK_EQ(cp_cfi_stub_slot(with + 8, 0x10000), 0);
}

/* glibc's _dl_runtime_resolve, with a landing pad: the PLT has pushed two words, which its rows
 * leave out. */
TEST(test_the_words_that_the_plt_pushes_are_below_the_caller)
{
	static const char program[] = "\x41\x11\x1e\x7f\x41\x0e\xd0\x01";

	CHECK_EQ(ROW(program, 0), 0);
	CHECK_EQ(row.cfa_offset, 16);
	CHECK_EQ(rule(CP_CFI_LR), CP_CFI_UNSET);
	CHECK_EQ(ROW(program, 1), 0);
	CHECK_EQ(row.cfa_offset, 16);
	check_rule(rule(CP_CFI_LR), CP_CFI_OFFSET, -8);
	CHECK_EQ(ROW(program, 2), 0);
	CHECK_EQ(row.cfa_offset, 208 + 16);
	check_rule(rule(CP_CFI_LR), CP_CFI_OFFSET, -8);
}

/* How many bits of a signed address are the signature depends on the kernel's address width. */
TEST(test_a_signature_is_removed_from_a_return_address)
{
	const uint64_t plain = (uint64_t)cp_cfi_table_parse;
	unsigned signed_ones = 0;

	for (uint64_t i = 0; i < 100; i++) {
		register uint64_t address __asm__("x17") = plain;
		register uint64_t modifier __asm__("x16") = 16 * i;
		uint64_t with_signature;

		__asm__("hint #8" : "+r"(address) : "r"(modifier)); /* pacia1716 */
		with_signature = address;
		signed_ones += with_signature != plain;
		CHECK_EQ(cp_cfi_strip(with_signature), plain);
	}
	if (!signed_ones)
		SKIP("the processor signs no addresses");
}
#endif
