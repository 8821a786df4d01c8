/* The walk by call frame information through code that has none, whose says what isn't so, or that
 * was written by hand.
 */
#include "unwind-chains.h"

#include "sigsafe/cfi.h"

#if defined(__x86_64__)
#include <setjmp.h>

/* Code that no table knows: push %rbp; mov %rsp,%rbp; call *%rax; pop %rbp; ret */
static const uint8_t generated_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0x5d, 0xc3 };

static NOINLINE int call_generated(void *code)
{
	int r;

	NOTE();
	__asm__ volatile("call *%1"
			 : "=a"(r)
			 : "r"(code), "a"(chain_a), "D"(1)
			 : "memory", "cc", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
	AFTER_CALL();
	return r;
}

static void test_generated_code_is_crossed_by_its_frame_pointer(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned at;

	if (code == MAP_FAILED)
		SKIP("no executable memory");
	memcpy(code, generated_code, sizeof(generated_code));
	chains_begin();
	call_generated(code);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	at = piece_at(1, notes);
	CHECK_EQ(at, 1);
	CHECK_EQ(walked.pcs[3], (uint64_t)code + 6 - 1);
	CHECK_EQ(walked.pcs[5], noted[0] - 1);
	munmap(code, 4096);
}

/* A JIT's helper, in the program's own text: no description, a frame pointer. */
int undescribed(void);
__asm__(".text\n.p2align 4\n.type undescribed, @function\nundescribed:\n"
	"\tpush %rbp\n\tmov %rsp, %rbp\n\tsub $128, %rsp\n\tcall *%rdx\n\tleave\n\tret\n"
	".size undescribed, . - undescribed\n.p2align 4");

static NOINLINE int call_helper(void *code)
{
	int r;

	NOTE();
	__asm__ volatile("call *%1"
			 : "=a"(r)
			 : "r"(code), "a"(undescribed), "D"(1), "d"(chain_a)
			 : "memory", "cc", "rcx", "rsi", "r8", "r9", "r10", "r11");
	AFTER_CALL();
	return r;
}

static void test_undescribed_code_that_generated_code_called(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		SKIP("no executable memory");
	memcpy(code, generated_code, sizeof(generated_code));
	chains_begin();
	call_helper(code);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	CHECK_EQ(piece_at(1, notes), 1);
	CHECK(walked.pcs[3] - (uint64_t)undescribed < 32);
	CHECK_EQ(walked.pcs[4], (uint64_t)code + 6 - 1);
	CHECK_EQ(walked.pcs[6], noted[0] - 1);
	munmap(code, 4096);
}

/* As interrupted in generated code right behind push %rbp, and at the entry of a helper that it
 * called: the frame pointer is the caller's still. */
static void test_generated_code_at_its_entry(void)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *code = page + 128;
	uint64_t stack[8] = { 0 };
	struct cp_unwind_input at = { .stable_modules = true, .own_tls = true };
	enum cp_unwind_end end;

	if (page == MAP_FAILED)
		SKIP("no executable memory");
	memcpy(code, generated_code, sizeof(generated_code));
	memcpy(code + 64, generated_code, sizeof(generated_code));
	stack[0] = (uint64_t)&stack[4];
	stack[1] = (uint64_t)code + 6; /* into the caller */
	stack[4] = 0;
	stack[5] = (uint64_t)code + 64 + 6; /* into the caller's caller */
	at.stack_low = (uint64_t)stack;
	at.stack_high = (uint64_t)(stack + 8);
	at.regs.r[CP_REG_FP] = (uint64_t)&stack[4];
	at.regs.r[CP_REG_SP] = (uint64_t)stack;
	at.regs.r[CP_REG_PC] = (uint64_t)code + 1;
	CHECK(unwinder->walk(&at, walked.pcs, 8, &end) >= 3);
	CHECK_EQ(walked.pcs[1], (uint64_t)code + 5);
	CHECK_EQ(walked.pcs[2], (uint64_t)code + 64 + 5);
	at.regs.r[CP_REG_SP] = (uint64_t)&stack[1];
	at.regs.r[CP_REG_PC] = (uint64_t)undescribed;
	CHECK(unwinder->walk(&at, walked.pcs, 8, &end) >= 3);
	CHECK_EQ(walked.pcs[1], (uint64_t)code + 5);
	CHECK_EQ(walked.pcs[2], (uint64_t)code + 64 + 5);
	munmap(page, 4096);
}

/* V8's ends of functions: the return address is in a register; the frame pointer is the caller's
 * while the frame is there; and a place where a call's arguments are put. */
int takes_arguments(void), jumps_on(void), aligns(void), adds_arguments(void);
__asm__(".text\n.p2align 4\n.type takes_arguments, @function\ntakes_arguments:\n"
	"\tpop %rcx\n\tlea 8(%r15), %rsp\n\tpush %rcx\n\tret\n"
	"\tpop %r10\n\tlea (%rsp,%rcx,8), %rsp\n\tpush %r10\n\tret\n"
	"\tpop %rcx\n\tadd %rbx, %rsp\n\tpush %rcx\n\tret\n"
	".size takes_arguments, . - takes_arguments\n.p2align 4\n"
	".type jumps_on, @function\njumps_on:\n"
	"\t.byte 0x48, 0x8b, 0x6d, 0x00\n\tmov %r8, %r12\n\tmov %r14, %rax\n"
	"\tadd $72, %rsp\n\tjmp *%rcx\n.size jumps_on, . - jumps_on\n.p2align 4\n"
	".type aligns, @function\naligns:\n"
	"\tmov %rsp, %r10\n\tsub $8, %rsp\n\tand $-16, %rsp\n\tmov %r10, (%rsp)\n"
	".size aligns, . - aligns\n.p2align 4\n"
	".type adds_arguments, @function\nadds_arguments:\n"
	"\tshl $32, %rcx\n\tpush %rcx\n\tpush %rdi\n\tpush %rdx\n\tjmp *%rax\n"
	".size adds_arguments, . - adds_arguments\n.p2align 4");

/* Generated code, one function behind the other; a caller's frame is at words[8], with its caller's
 * address, and it called by what is before code + 6. */
static struct {
	uint8_t *code;
	uint64_t words[16];
	struct cp_unwind_input in;
} leaf;

static bool begin_leaf(void)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return false;
	memset(&leaf, 0, sizeof(leaf));
	leaf.code = page + 128;
	memcpy(leaf.code, generated_code, sizeof(generated_code));
	memcpy(leaf.code + 64, generated_code, sizeof(generated_code));
	leaf.words[9] = (uint64_t)leaf.code + 64 + 6;
	leaf.in.stable_modules = leaf.in.own_tls = true;
	leaf.in.stack_low = (uint64_t)leaf.words;
	leaf.in.stack_high = (uint64_t)(leaf.words + 16);
	leaf.in.regs.r[CP_REG_FP] = (uint64_t)&leaf.words[8];
	leaf.in.regs.r[CP_REG_SP] = (uint64_t)leaf.words;
	return true;
}

/* Interrupted AT bytes into FUNCTION: the generated code called it. */
static void check_leaf(int (*function)(void), unsigned at)
{
	enum cp_unwind_end end;

	leaf.in.regs.r[CP_REG_PC] = (uint64_t)function + at;
	CHECK(unwinder->walk(&leaf.in, walked.pcs, 8, &end) >= 3);
	CHECK_EQ(walked.pcs[1], (uint64_t)leaf.code + 5);
	CHECK_EQ(walked.pcs[2], (uint64_t)leaf.code + 64 + 5);
}

static void test_a_return_address_in_a_register(void)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.in.regs.r[2] = (uint64_t)leaf.code + 6; /* rcx */
	leaf.in.regs.r[15] = (uint64_t)leaf.words;
	check_leaf(takes_arguments, 1);
	check_leaf(takes_arguments, 5);
	check_leaf(takes_arguments, 16 + 1);
	check_leaf(takes_arguments, 16 + 4);
	leaf.words[0] = leaf.in.regs.r[2];
	check_leaf(takes_arguments, 6);
	leaf.words[0] = leaf.in.regs.r[2] = 0;
	leaf.in.regs.r[10] = (uint64_t)leaf.code + 6;
	check_leaf(takes_arguments, 7 + 2);
	check_leaf(takes_arguments, 7 + 6);
	/* Entered: the address is on the stack, and the register has something else. */
	leaf.in.regs.r[10] = 0;
	leaf.words[0] = (uint64_t)leaf.code + 6;
	check_leaf(takes_arguments, 0);
	munmap(leaf.code - 128, 4096);
}

/* It has called the above, and is found by sp. */
int passes_arguments(void);
__asm__(".text\n.p2align 4\n.type passes_arguments, @function\npasses_arguments:\n"
	".cfi_startproc\n\tsub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall takes_arguments\n"
	"\tadd $8, %rsp\n\tret\n.cfi_endproc\n"
	".size passes_arguments, . - passes_arguments\n.p2align 4");

static void check_arguments(unsigned at, unsigned ra, unsigned reg, uint64_t value)
{
	enum cp_unwind_end end;

	CHECK(begin_leaf());
	leaf.words[1] = leaf.words[3] = leaf.words[9]; /* arguments, as may be */
	leaf.words[5] = (uint64_t)leaf.code + 6;
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)takes_arguments + at;
	leaf.in.regs.r[reg] = value;
	leaf.in.regs.r[ra] = (uint64_t)passes_arguments + 9;
	CHECK(unwinder->walk(&leaf.in, walked.pcs, 8, &end) >= 4);
	CHECK_EQ(walked.pcs[1], (uint64_t)passes_arguments + 8);
	CHECK_EQ(walked.pcs[2], (uint64_t)leaf.code + 5);
	CHECK_EQ(walked.pcs[3], (uint64_t)leaf.code + 64 + 5);
	munmap(leaf.code - 128, 4096);
}

static void test_arguments_that_are_taken_away(void)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	munmap(leaf.code - 128, 4096);
	check_arguments(1, 2, 15, (uint64_t)&leaf.words[3]);
	check_arguments(7 + 2, 10, 2, 4);
	check_arguments(16 + 1, 2, 3, 32);
}

static void test_a_frame_that_the_frame_pointer_has_left(void)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[2] = (uint64_t)&leaf.words[8]; /* no record: no return address is behind it */
	leaf.words[5] = (uint64_t)&leaf.words[8];
	leaf.words[6] = (uint64_t)leaf.code + 6;
	check_leaf(jumps_on, 4);
	check_leaf(jumps_on, 7);
	check_leaf(jumps_on, 10);
	munmap(leaf.code - 128, 4096);
}

static void test_arguments_under_the_return_address(void)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.in.regs.r[2] = leaf.words[3] = 0x800000000; /* rcx */
	leaf.in.regs.r[5] = leaf.words[2] = 11;		 /* rdi */
	leaf.in.regs.r[1] = leaf.words[1] = 22;		 /* rdx */
	leaf.words[4] = (uint64_t)leaf.code + 6;
	for (unsigned n = 0; n < 4; n++) {
		leaf.in.regs.r[CP_REG_SP] = (uint64_t)&leaf.words[4 - n];
		check_leaf(adds_arguments, 4 + n);
	}
	munmap(leaf.code - 128, 4096);
}

/* What an earlier call left lies where sp was put. */
static void test_an_aligned_stack_pointer(void)
{
	enum cp_unwind_end end;

	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = (uint64_t)leaf.code + 6;
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)aligns + 11;
	CHECK(unwinder->walk(&leaf.in, walked.pcs, 8, &end) >= 2);
	CHECK_EQ(walked.pcs[1], (uint64_t)leaf.code + 64 + 5);
	munmap(leaf.code - 128, 4096);
}

/* As codecs are written: words of its own above sp, a loop, and nothing that tells of either. */
int codec(void), calls_first(void), reloads_sp(void);
__asm__(".text\n.p2align 4\n.type codec, @function\ncodec:\n"
	"\tpush %rax\n\tpush %rbx\n\tpush %r12\n\tsub $24, %rsp\n"
	"\tvmovdqa %ymm3, (%r8)\n\tmov 8(%rsp), %rbx\n\txor %r12d, %r12d\n"
	"\tdecl 16(%rsp)\n\tjg codec+8\n"
	"\tadd $24, %rsp\n\tpop %r12\n\tjmp 1f\n\thlt\n1:\tpop %rbx\n\tpop "
	"%rax\n\tvzeroupper\n\tret\n"
	".size codec, . - codec\n.p2align 4\n"
	".type calls_first, @function\ncalls_first:\n"
	"\tsub $24, %rsp\n\tnop\n\tcall *%r11\n\tadd $24, %rsp\n\tret\n"
	".size calls_first, . - calls_first\n.p2align 4\n"
	".type reloads_sp, @function\nreloads_sp:\n"
	"\tmov %rsp, %rax\n\tsub $40, %rsp\n\tand $-32, %rsp\n\tmov %rax, 32(%rsp)\n"
	"\tpaddw %xmm1, %xmm2\n\tmov 32(%rsp), %rsp\n\tret\n"
	".size reloads_sp, . - reloads_sp\n.p2align 4");

/* In the loop: what an earlier call left, as addresses behind calls, is not taken for the caller's.
 */
static void test_code_without_description_is_read_on_to_its_return(void)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = leaf.words[2] = leaf.words[4] = (uint64_t)leaf.code + 64 + 6;
	leaf.words[6] = (uint64_t)leaf.code + 6;
	check_leaf(codec, 8);
	check_leaf(codec, 13);
	check_leaf(codec, 18);
	check_leaf(codec, 24);
	munmap(leaf.code - 128, 4096);
}

static void test_a_stack_pointer_that_is_read_back(void)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = (uint64_t)leaf.code + 64 + 6;
	leaf.words[4] = (uint64_t)&leaf.words[7];
	leaf.words[7] = (uint64_t)leaf.code + 6;
	check_leaf(reloads_sp, 16);
	check_leaf(reloads_sp, 20);
	munmap(leaf.code - 128, 4096);
}

/* A short function, and one behind it that aligns sp, and called the other before. */
int called_before(void), calls_another(void);
__asm__(".text\n.p2align 4\n.type called_before, @function\ncalled_before:\n"
	"\ttest %eax, %eax\n\tjne 1f\n\tret\n1:\tincl (%rcx)\n\tret\n"
	".size called_before, . - called_before\n.p2align 4\n"
	".type calls_another, @function\ncalls_another:\n"
	"\tmov %rsp, %rcx\n\tand $-32, %rsp\n\tsub $96, %rsp\n\tcall called_before\n"
	"\tsub $64, %rsp\n\tnop\n\tmov %rcx, %rsp\n\tret\n"
	".size calls_another, . - calls_another\n.p2align 4");

static void test_a_call_to_a_function_that_ended_before(void)
{
	enum cp_unwind_end end;

	if (!begin_leaf())
		SKIP("no executable memory");
	CHECK(cp_cfi_reaches((uint64_t)called_before, (uint64_t)called_before + 7, false));
	CHECK(!cp_cfi_reaches((uint64_t)called_before, (uint64_t)calls_another + 16, false));
	leaf.words[7] = (uint64_t)calls_another + 16; /* as the call has left it */
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)calls_another + 21;
	leaf.in.regs.r[CP_REG_FP] = 0;
	CHECK_EQ(unwinder->walk(&leaf.in, walked.pcs, 8, &end), 1);
	CHECK_EQ(end, CP_UNWIND_INCOMPLETE);
	munmap(leaf.code - 128, 4096);
}

/* Its last instruction is a call that never returns: behind it another function begins. */
int ends_with_a_call(void), behind_that_call(void);
__asm__(".text\n.p2align 4\n.type ends_with_a_call, @function\nends_with_a_call:\n"
	".cfi_startproc\n\tsub $24, %rsp\n\t.cfi_adjust_cfa_offset 24\n\tcall called_before\n"
	".cfi_endproc\n.size ends_with_a_call, . - ends_with_a_call\n"
	".type behind_that_call, @function\nbehind_that_call:\n"
	".cfi_startproc\n\tret\n.cfi_endproc\n.size behind_that_call, . - behind_that_call\n"
	".p2align 4");

static void test_a_caller_is_the_function_of_its_call(void)
{
	enum cp_unwind_end end;

	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = (uint64_t)behind_that_call;
	leaf.words[1] =
		(uint64_t)calls_another + 16; /* where the other's return address would be */
	leaf.words[4] = (uint64_t)calls_first + 8;
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)called_before + 2;
	/* The second time by what was learnt. */
	for (int n = 0; n < 2; n++) {
		CHECK(unwinder->walk(&leaf.in, walked.pcs, 8, &end) >= 3);
		CHECK_EQ(walked.pcs[1], (uint64_t)behind_that_call - 1);
		CHECK_EQ(walked.pcs[2], (uint64_t)calls_first + 7);
	}
	munmap(leaf.code - 128, 4096);
}

/* Functions whose ends are filled up with an instruction of 15 bytes, as clang does, and with one
 * that has more prefixes than any that is meant. */
int loads_and_ends(void), filled_up(void), filled_strangely(void), behind_them(void);
__asm__(".text\n.p2align 4\n.type loads_and_ends, @function\nloads_and_ends:\n"
	"\tmov 64(%rsp), %eax\n\tret\n.size loads_and_ends, . - loads_and_ends\n"
	".p2align 4, 0xcc\n.type filled_up, @function\nfilled_up:\n\tret\n"
	"\t.byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
	".size filled_up, . - filled_up\n"
	".type filled_strangely, @function\nfilled_strangely:\n\tret\n"
	"\t.byte 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66\n"
	"\t.byte 0x66, 0x90\n.size filled_strangely, . - filled_strangely\n"
	".type behind_them, @function\nbehind_them:\n\tnop\n\tret\n"
	".size behind_them, . - behind_them\n.p2align 4");

static void test_ends_that_are_filled_up_are_found_and_left(void)
{
	uint64_t behind = (uint64_t)behind_them + 1;

	for (int copy = 0; copy < 2; copy++) {
		CHECK(!cp_cfi_reaches((uint64_t)loads_and_ends, (uint64_t)filled_up, copy));
		CHECK(!cp_cfi_reaches((uint64_t)filled_up, behind, copy));
		CHECK(!cp_cfi_reaches((uint64_t)filled_strangely, behind, copy));
		CHECK(cp_cfi_reaches((uint64_t)behind_them, behind, copy));
	}
}

/* The register of the frame pointer has anything in it, where none is kept: also 0. */
static void test_no_frame_pointer_is_no_end_below_a_return_address(void)
{
	enum cp_unwind_end end;

	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = (uint64_t)calls_another + 16;
	leaf.words[12] = (uint64_t)calls_another + 16;
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)called_before + 2;
	leaf.in.regs.r[CP_REG_FP] = 0;
	CHECK_EQ(unwinder->walk(&leaf.in, walked.pcs, 8, &end), 2);
	CHECK_EQ(walked.pcs[1], (uint64_t)calls_another + 15);
	CHECK_EQ(end, CP_UNWIND_INCOMPLETE);
	leaf.words[12] = 0;
	CHECK_EQ(unwinder->walk(&leaf.in, walked.pcs, 8, &end), 2);
	CHECK_EQ(end, CP_UNWIND_COMPLETE);
	munmap(leaf.code - 128, 4096);
}

/* As in libgmp: what is jumped to is aligned, behind a return and behind a jump to anywhere. */
int aligned_inside(void);
__asm__(".text\n.p2align 4\n.type aligned_inside, @function\naligned_inside:\n"
	"\tje 1f\n\tlea 2f(%rip), %r11\n\tjmp *%r11\n\t.p2align 4\n"
	"2:\tincl (%rcx)\n\tje 1f\n\tret\n\t.p2align 4\n1:\tdecl (%rcx)\n\tret\n"
	".size aligned_inside, . - aligned_inside\n.p2align 4");

static void test_alignment_inside_a_function_is_not_its_end(void)
{
	uint64_t at = (uint64_t)aligned_inside;

	CHECK(cp_cfi_reaches(at, at + 16, false));
	CHECK(cp_cfi_reaches(at, at + 32, false));
	CHECK(!cp_cfi_reaches(at, at + 48, false));
}

/* What it has pushed, and not yet given back, is in the words that it will read. */
static void test_registers_that_undescribed_code_gives_back(void)
{
	struct cp_cfi_frame f = { .known = CP_CFI_ALL_KNOWN };
	struct cp_cfi_ahead to = { .leaf = true };

	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[3] = 12;
	leaf.words[4] = 3;
	leaf.words[6] = (uint64_t)leaf.code + 6;
	f.regs = leaf.in.regs;
	f.regs.r[CP_REG_PC] = (uint64_t)codec + 8;
	f.regs.r[15] = 15;
	cp_stackmem_init(&f.stack, leaf.in.stack_low, leaf.in.stack_low, leaf.in.stack_high);
	CHECK(cp_cfi_reads_on(&f, false, &to));
	CHECK_EQ(to.ra, leaf.words[6]);
	CHECK_EQ(to.sp, (uint64_t)&leaf.words[7]);
	cp_cfi_take_restored(&f, &to);
	CHECK_EQ(f.regs.r[CP_CFI_RBX], 3);
	CHECK_EQ(f.regs.r[12], 12);
	CHECK_EQ(f.regs.r[15], 15);
	CHECK_EQ(f.known, CP_CFI_ALL_KNOWN);
	/* Entered: what it will push is what the registers have, not what is there. */
	to.leaf = true;
	f.regs.r[CP_REG_PC] = (uint64_t)codec;
	f.regs.r[CP_REG_SP] = (uint64_t)&leaf.words[6];
	f.regs.r[CP_CFI_RBX] = 33;
	f.regs.r[12] = 44;
	CHECK(cp_cfi_reads_on(&f, false, &to));
	CHECK_EQ(to.ra, leaf.words[6]);
	cp_cfi_take_restored(&f, &to);
	CHECK_EQ(f.known, CP_CFI_ALL_KNOWN);
	CHECK_EQ(f.regs.r[CP_CFI_RBX], 33);
	CHECK_EQ(f.regs.r[12], 44);
	/* A call may be the end. */
	f.regs.r[CP_REG_SP] = (uint64_t)leaf.words;
	f.regs.r[CP_REG_PC] = (uint64_t)calls_first + 4;
	to.leaf = true;
	CHECK(!cp_cfi_reads_on(&f, false, &to));
	to.leaf = false;
	leaf.words[3] = 77;
	CHECK(cp_cfi_reads_on(&f, false, &to));
	CHECK_EQ(to.ra, 77);
	munmap(leaf.code - 128, 4096);
}

/* Its description ends before its code does. */
int half_described(void);
__asm__(".text\n.p2align 4\n.type half_described, @function\nhalf_described:\n"
	".cfi_startproc\n\tnop\n\t.cfi_endproc\n"
	"\tint3\n\txorl %eax, %eax\n\tret\n.size half_described, . - half_described\n.p2align 4");

static NOINLINE int call_half_described(void)
{
	int r;

	NOTE();
	r = half_described();
	AFTER_CALL();
	return r;
}

static void test_a_description_that_ends_early(void)
{
	chains_begin();
	call_half_described();
	CHECK_EQ(noted_at(), 2);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	modules_unstable = true;
	chains_begin();
	call_half_described();
	CHECK_EQ(noted_at(), 2);
	modules_unstable = false;
}

/* clang's: the frame is gone before its description says so. */
int freed_early(void);
__asm__(".text\n.p2align 4\n.type freed_early, @function\nfreed_early:\n\t.cfi_startproc\n"
	"\tpush %rbx\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n"
	"\tsub $24, %rsp\n\t.cfi_def_cfa_offset 40\n\tmovq $0, 16(%rsp)\n"
	"\tadd $24, %rsp\n\tcmp %rbx, %rax\n\tint3\n\tnop\n\t.cfi_def_cfa_offset 16\n"
	"\tpop %rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n"
	".size freed_early, . - freed_early\n.p2align 4");

static NOINLINE int call_freed_early(void)
{
	int r;

	NOTE();
	r = freed_early();
	AFTER_CALL();
	return r;
}

static void test_a_frame_that_is_freed_early(void)
{
	for (int round = 0; round < 4; round++) {
		if (round == 2)
			unwinder->modules_changed();
		modules_unstable = round == 2;
		chains_begin();
		call_freed_early();
		CHECK_EQ(noted_at(), 2);
		CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	}
	modules_unstable = false;
}

/* By hand: four states are remembered one in another. */
#define DOWN(to) "\t.cfi_remember_state\n\tsub $16, %rsp\n\t.cfi_def_cfa_offset " #to "\n"
#define UP "\tadd $16, %rsp\n\t.cfi_restore_state\n"
int nested(void);
__asm__(".text\n.p2align 4\n.type nested, @function\nnested:\n\t.cfi_startproc\n"
	"\tpush %rbx\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n" DOWN(32)
		DOWN(48) "\tint3\n" DOWN(64) DOWN(
			80) "\tint3\n" UP "\tint3\n" UP "\tint3\n" UP "\tint3\n" UP
			    "\tint3\n\tpop %rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n"
			    ".size nested, . - nested\n.p2align 4");

static NOINLINE int call_nested(void)
{
	int r;

	NOTE();
	r = nested();
	AFTER_CALL();
	return r;
}

static volatile unsigned nested_traps, nested_cut, nested_wrong;

static void on_nested(int sig, siginfo_t *info, void *context)
{
	struct cp_unwind_input in;
	unsigned trap = nested_traps++;

	input_of(&in, context);
	walked.n = unwinder->walk(&in, walked.pcs, DEPTH, &walked.end);
	/* The third and fourth can't be restored: nothing is said, rather than something wrong. */
	if (trap == 2 || trap == 3)
		nested_cut += walked.n == 1 && walked.end == CP_UNWIND_INCOMPLETE;
	else
		nested_wrong += walked.end != CP_UNWIND_COMPLETE || noted_at() != 2;
}

static void test_nested_states_by_hand(void)
{
	struct sigaction sa = { .sa_sigaction = on_nested, .sa_flags = SA_SIGINFO };

	for (int round = 0; round < 3; round++) { /* cold, by the cache, by the kernel */
		nested_traps = nested_cut = nested_wrong = 0;
		modules_unstable = round == 2;
		chains_begin();
		sigaction(SIGTRAP, &sa, NULL);
		call_nested();
		CHECK_EQ(nested_traps, 6);
		CHECK_EQ(nested_cut, 2);
		CHECK_EQ(nested_wrong, 0);
	}
	modules_unstable = false;
}

static sigjmp_buf survived;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	on_trap(sig, info, context);
	siglongjmp(survived, 1);
}

static NOINLINE int call_nowhere(int (*volatile *f)(void))
{
	int r;

	NOTE();
	r = (*f)();
	AFTER_CALL();
	return r;
}

static void test_jump_to_null_shows_its_caller(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	int (*volatile f)(void) = NULL;

	chains_begin();
	sigaction(SIGSEGV, &sa, NULL);
	if (!sigsetjmp(survived, 1))
		call_nowhere(&f);
	signal(SIGSEGV, SIG_DFL);
	CHECK_EQ(walked.pcs[0], 0);
	CHECK_EQ(noted_at(), 2);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
}

int main(void)
{
	unwinder = &cp_unwinder_dwarf;
	CHECK_EQ(unwinder->prepare(), 0);
	RUN(test_generated_code_is_crossed_by_its_frame_pointer);
	RUN(test_generated_code_at_its_entry);
	RUN(test_undescribed_code_that_generated_code_called);
	RUN(test_a_return_address_in_a_register);
	RUN(test_arguments_that_are_taken_away);
	RUN(test_a_frame_that_the_frame_pointer_has_left);
	RUN(test_arguments_under_the_return_address);
	RUN(test_an_aligned_stack_pointer);
	RUN(test_code_without_description_is_read_on_to_its_return);
	RUN(test_a_stack_pointer_that_is_read_back);
	RUN(test_a_call_to_a_function_that_ended_before);
	RUN(test_a_caller_is_the_function_of_its_call);
	RUN(test_ends_that_are_filled_up_are_found_and_left);
	RUN(test_no_frame_pointer_is_no_end_below_a_return_address);
	RUN(test_alignment_inside_a_function_is_not_its_end);
	RUN(test_registers_that_undescribed_code_gives_back);
	RUN(test_a_frame_that_is_freed_early);
	RUN(test_nested_states_by_hand);
	RUN(test_a_description_that_ends_early);
	RUN(test_jump_to_null_shows_its_caller);
	return harness_end();
}

#else

int main(void)
{
	return 77;
}

#endif
