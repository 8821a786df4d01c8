/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk from the innermost function where no table describes it: a JIT's that is about to
 * return, and code written by hand, which is read on to its return.
 */
#include "generated-code.h"
#define OWN_MAIN
#include "unwind-chains.h"

#include "unwind/signal/unwind_signal.h"

#if defined(__x86_64__)
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

/* Generated code, one function after the other; a caller's frame is at words[8], with its caller's
 * address, and its call is the one before generated_return(code, 0). */
static struct {
	uint8_t *code;
	uint64_t words[16];
	struct cp_unwind_input in;
} leaf;

static bool begin_leaf(void)
{
	memset(&leaf, 0, sizeof(leaf));
	leaf.code = generated_map();
	if (!leaf.code)
		return false;
	leaf.words[9] = generated_return(leaf.code, 1);
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
	CHECK_EQ(walked.pcs[1], generated_return(leaf.code, 0) - 1);
	CHECK_EQ(walked.pcs[2], generated_return(leaf.code, 1) - 1);
}

TEST(test_a_return_address_in_a_register)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.in.regs.r[2] = generated_return(leaf.code, 0); /* rcx */
	leaf.in.regs.r[15] = (uint64_t)leaf.words;
	check_leaf(takes_arguments, 1);
	check_leaf(takes_arguments, 5);
	check_leaf(takes_arguments, 16 + 1);
	check_leaf(takes_arguments, 16 + 4);
	leaf.words[0] = leaf.in.regs.r[2];
	check_leaf(takes_arguments, 6);
	leaf.words[0] = leaf.in.regs.r[2] = 0;
	leaf.in.regs.r[10] = generated_return(leaf.code, 0);
	check_leaf(takes_arguments, 7 + 2);
	check_leaf(takes_arguments, 7 + 6);
	/* Entered: the address is on the stack, and the register has something else. */
	leaf.in.regs.r[10] = 0;
	leaf.words[0] = generated_return(leaf.code, 0);
	check_leaf(takes_arguments, 0);
	generated_unmap(leaf.code);
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
	leaf.words[5] = generated_return(leaf.code, 0);
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)takes_arguments + at;
	leaf.in.regs.r[reg] = value;
	leaf.in.regs.r[ra] = (uint64_t)passes_arguments + 9;
	CHECK(unwinder->walk(&leaf.in, walked.pcs, 8, &end) >= 4);
	CHECK_EQ(walked.pcs[1], (uint64_t)passes_arguments + 8);
	CHECK_EQ(walked.pcs[2], generated_return(leaf.code, 0) - 1);
	CHECK_EQ(walked.pcs[3], generated_return(leaf.code, 1) - 1);
	generated_unmap(leaf.code);
}

TEST(test_arguments_that_are_taken_away)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	generated_unmap(leaf.code);
	check_arguments(1, 2, 15, (uint64_t)&leaf.words[3]);
	check_arguments(7 + 2, 10, 2, 4);
	check_arguments(16 + 1, 2, 3, 32);
}

TEST(test_a_frame_that_the_frame_pointer_has_left)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[2] = (uint64_t)&leaf.words[8]; /* no record: no return address comes after it */
	leaf.words[5] = (uint64_t)&leaf.words[8];
	leaf.words[6] = generated_return(leaf.code, 0);
	check_leaf(jumps_on, 4);
	check_leaf(jumps_on, 7);
	check_leaf(jumps_on, 10);
	generated_unmap(leaf.code);
}

TEST(test_arguments_under_the_return_address)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.in.regs.r[2] = leaf.words[3] = 0x800000000; /* rcx */
	leaf.in.regs.r[5] = leaf.words[2] = 11;		 /* rdi */
	leaf.in.regs.r[1] = leaf.words[1] = 22;		 /* rdx */
	leaf.words[4] = generated_return(leaf.code, 0);
	for (unsigned n = 0; n < 4; n++) {
		leaf.in.regs.r[CP_REG_SP] = (uint64_t)&leaf.words[4 - n];
		check_leaf(adds_arguments, 4 + n);
	}
	generated_unmap(leaf.code);
}

/* The remains of an earlier call lie at the place to which sp was set. */
TEST(test_an_aligned_stack_pointer)
{
	enum cp_unwind_end end;

	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = generated_return(leaf.code, 0);
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)aligns + 11;
	CHECK(unwinder->walk(&leaf.in, walked.pcs, 8, &end) >= 2);
	CHECK_EQ(walked.pcs[1], generated_return(leaf.code, 1) - 1);
	generated_unmap(leaf.code);
}

/* As codecs are written: words of its own above sp, a loop, and nothing that tells of either. */
int codec(void), asserts(void), goes_round(void), calls_first(void), reloads_sp(void);
__asm__(".text\n.p2align 4\n.type codec, @function\ncodec:\n"
	"\tpush %rax\n\tpush %rbx\n\tpush %r12\n\tsub $24, %rsp\n"
	"\tvmovdqa %ymm3, (%r8)\n\tmov 8(%rsp), %rbx\n\txor %r12d, %r12d\n"
	"\tdecl 16(%rsp)\n\tjg codec+8\n"
	"\tadd $24, %rsp\n\tpop %r12\n\tjmp 1f\n\thlt\n1:\tpop %rbx\n\tpop "
	"%rax\n\tvzeroupper\n\tret\n"
	".size codec, . - codec\n.p2align 4\n"
	".type asserts, @function\nasserts:\n"
	"\tsub $24, %rsp\n\tjbe 1f\n\thlt\n1:\tmov 8(%rsp), %rbx\n\tjne 2f\n\tud2\n"
	"2:\tadd $24, %rsp\n\tret\n.size asserts, . - asserts\n.p2align 4\n"
	".type goes_round, @function\ngoes_round:\n"
	"\tsub $24, %rsp\n1:\tdec %eax\n\tje 2f\n\tnop\n\tjmp 1b\n"
	"2:\tadd $24, %rsp\n\tret\n.size goes_round, . - goes_round\n.p2align 4\n"
	".type calls_first, @function\ncalls_first:\n"
	"\tsub $24, %rsp\n\tnop\n\tcall *%r11\n\tadd $24, %rsp\n\tret\n"
	".size calls_first, . - calls_first\n.p2align 4\n"
	".type reloads_sp, @function\nreloads_sp:\n"
	"\tmov %rsp, %rax\n\tsub $40, %rsp\n\tand $-32, %rsp\n\tmov %rax, 32(%rsp)\n"
	"\tpaddw %xmm1, %xmm2\n\tmov 32(%rsp), %rsp\n\tret\n"
	".size reloads_sp, . - reloads_sp\n.p2align 4");

/* In the loop: the remains of an earlier call, which look like return addresses, are not taken for
 * the caller's.
 */
TEST(test_code_without_description_is_read_on_to_its_return)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = leaf.words[2] = leaf.words[4] = generated_return(leaf.code, 1);
	leaf.words[6] = generated_return(leaf.code, 0);
	check_leaf(codec, 8);
	check_leaf(codec, 13);
	check_leaf(codec, 18);
	check_leaf(codec, 24);
	generated_unmap(leaf.code);
}

/* musl's allocator: an instruction that ends the process if what it checks is wrong. */
TEST(test_traps_that_are_jumped_over)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = leaf.words[2] = generated_return(leaf.code, 1);
	leaf.words[3] = generated_return(leaf.code, 0);
	check_leaf(asserts, 4);
	check_leaf(asserts, 7);
	check_leaf(asserts, 12);
	generated_unmap(leaf.code);
}

/* musl's qsort: the way out of the loop is in its middle. */
TEST(test_loops_are_left_where_they_end)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = leaf.words[2] = generated_return(leaf.code, 1);
	leaf.words[3] = generated_return(leaf.code, 0);
	check_leaf(goes_round, 6);
	check_leaf(goes_round, 8);
	check_leaf(goes_round, 9);
	generated_unmap(leaf.code);
}

TEST(test_a_stack_pointer_that_is_read_back)
{
	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[0] = generated_return(leaf.code, 1);
	leaf.words[4] = (uint64_t)&leaf.words[7];
	leaf.words[7] = generated_return(leaf.code, 0);
	check_leaf(reloads_sp, 16);
	check_leaf(reloads_sp, 20);
	generated_unmap(leaf.code);
}

/* A short function, and after it one that aligns sp, and had called the first one before. */
int called_before(void), calls_another(void);
__asm__(".text\n.p2align 4\n.type called_before, @function\ncalled_before:\n"
	"\ttest %eax, %eax\n\tjne 1f\n\tret\n1:\tincl (%rcx)\n\tret\n"
	".size called_before, . - called_before\n.p2align 4\n"
	".type calls_another, @function\ncalls_another:\n"
	"\tmov %rsp, %rcx\n\tand $-32, %rsp\n\tsub $96, %rsp\n\tcall called_before\n"
	"\tsub $64, %rsp\n\tnop\n\tmov %rcx, %rsp\n\tret\n"
	".size calls_another, . - calls_another\n.p2align 4");

TEST(test_a_call_to_a_function_that_ended_before)
{
	enum cp_unwind_end end;

	if (!begin_leaf())
		SKIP("no executable memory");
	CHECK(cp_cfi_forward_reaches((uint64_t)called_before, (uint64_t)called_before + 7, false));
	CHECK(!cp_cfi_forward_reaches((uint64_t)called_before, (uint64_t)calls_another + 16,
				      false));
	leaf.words[7] = (uint64_t)calls_another + 16; /* as the call has left it */
	leaf.in.regs.r[CP_REG_PC] = (uint64_t)calls_another + 21;
	leaf.in.regs.r[CP_REG_FP] = 0;
	CHECK_EQ(unwinder->walk(&leaf.in, walked.pcs, 8, &end), 1);
	CHECK_EQ(end, CP_UNWIND_INCOMPLETE);
	generated_unmap(leaf.code);
}

/* Its last instruction is a call that never returns: another function begins after it. */
int ends_with_a_call(void), behind_that_call(void);
__asm__(".text\n.p2align 4\n.type ends_with_a_call, @function\nends_with_a_call:\n"
	".cfi_startproc\n\tsub $24, %rsp\n\t.cfi_adjust_cfa_offset 24\n\tcall called_before\n"
	".cfi_endproc\n.size ends_with_a_call, . - ends_with_a_call\n"
	".type behind_that_call, @function\nbehind_that_call:\n"
	".cfi_startproc\n\tret\n.cfi_endproc\n.size behind_that_call, . - behind_that_call\n"
	".p2align 4");

TEST(test_a_caller_is_the_function_of_its_call)
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
	generated_unmap(leaf.code);
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

TEST(test_ends_that_are_filled_up_are_found_and_left)
{
	uint64_t behind = (uint64_t)behind_them + 1;

	for (int copy = 0; copy < 2; copy++) {
		CHECK(!cp_cfi_forward_reaches((uint64_t)loads_and_ends, (uint64_t)filled_up, copy));
		CHECK(!cp_cfi_forward_reaches((uint64_t)filled_up, behind, copy));
		CHECK(!cp_cfi_forward_reaches((uint64_t)filled_strangely, behind, copy));
		CHECK(cp_cfi_forward_reaches((uint64_t)behind_them, behind, copy));
	}
}

/* Code goes on to the last byte of what is mapped, and an instruction may not be cut there. */
TEST(test_code_at_the_end_of_its_mapping)
{
	const size_t page = 4096;
	uint8_t *code =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t end = (uint64_t)code + page;

	CHECK(code != MAP_FAILED);
	memset(code, 0x90, 2 * page);
	CHECK_EQ(munmap(code + page, page), 0);
	for (int copy = 0; copy < 2; copy++) {
		code[page - 2] = 0x90;
		code[page - 1] = 0xc3;
		CHECK(cp_cfi_forward_reaches(end - 600, end - 1, copy));
		CHECK(cp_cfi_forward_reaches(end - 1, end, copy));
		/* mov (%rax), %rax, without its last byte */
		code[page - 2] = 0x48;
		code[page - 1] = 0x8b;
		CHECK(!cp_cfi_forward_reaches(end - 600, end + 1, copy));
		CHECK(!cp_cfi_forward_reaches(end - 2, end + 1, copy));
		CHECK(!cp_cfi_forward_reaches(end, end + 1, copy));
	}
	munmap(code, page);
	cp_cfi_code_forget();
}

/* The register of the frame pointer has anything in it, where none is kept: also 0. */
TEST(test_no_frame_pointer_is_no_end_below_a_return_address)
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
	generated_unmap(leaf.code);
}

/* As in libgmp: the target of a jump is aligned, after a return and after a jump to anywhere. */
int aligned_inside(void);
__asm__(".text\n.p2align 4\n.type aligned_inside, @function\naligned_inside:\n"
	"\tje 1f\n\tlea 2f(%rip), %r11\n\tjmp *%r11\n\t.p2align 4\n"
	"2:\tincl (%rcx)\n\tje 1f\n\tret\n\t.p2align 4\n1:\tdecl (%rcx)\n\tret\n"
	".size aligned_inside, . - aligned_inside\n.p2align 4");

TEST(test_alignment_inside_a_function_is_not_its_end)
{
	uint64_t at = (uint64_t)aligned_inside;

	CHECK(cp_cfi_forward_reaches(at, at + 16, false));
	CHECK(cp_cfi_forward_reaches(at, at + 32, false));
	CHECK(!cp_cfi_forward_reaches(at, at + 48, false));
}

/* The registers that it has pushed, and not yet restored, are in the words that it will read. */
TEST(test_registers_that_undescribed_code_gives_back)
{
	struct cp_cfi_frame f = { .known = CP_CFI_ALL_KNOWN };
	struct cp_cfi_forward to = { .leaf = true };

	if (!begin_leaf())
		SKIP("no executable memory");
	leaf.words[3] = 12;
	leaf.words[4] = 3;
	leaf.words[6] = generated_return(leaf.code, 0);
	f.regs = leaf.in.regs;
	f.regs.r[CP_REG_PC] = (uint64_t)codec + 8;
	f.regs.r[15] = 15;
	cp_stackmem_init(&f.stack, leaf.in.stack_low, leaf.in.stack_low, leaf.in.stack_high);
	CHECK(cp_cfi_forward_reads_on(&f, false, &to));
	CHECK_EQ(to.ra, leaf.words[6]);
	CHECK_EQ(to.sp, (uint64_t)&leaf.words[7]);
	cp_cfi_forward_take_restored(&f, &to);
	CHECK_EQ(f.regs.r[CP_CFI_RBX], 3);
	CHECK_EQ(f.regs.r[12], 12);
	CHECK_EQ(f.regs.r[15], 15);
	CHECK_EQ(f.known, CP_CFI_ALL_KNOWN);
	/* At the entry: it will push the present values of the registers, so the present words
	 * don't count. */
	to.leaf = true;
	f.regs.r[CP_REG_PC] = (uint64_t)codec;
	f.regs.r[CP_REG_SP] = (uint64_t)&leaf.words[6];
	f.regs.r[CP_CFI_RBX] = 33;
	f.regs.r[12] = 44;
	CHECK(cp_cfi_forward_reads_on(&f, false, &to));
	CHECK_EQ(to.ra, leaf.words[6]);
	cp_cfi_forward_take_restored(&f, &to);
	CHECK_EQ(f.known, CP_CFI_ALL_KNOWN);
	CHECK_EQ(f.regs.r[CP_CFI_RBX], 33);
	CHECK_EQ(f.regs.r[12], 44);
	/* A call may be the end. */
	f.regs.r[CP_REG_SP] = (uint64_t)leaf.words;
	f.regs.r[CP_REG_PC] = (uint64_t)calls_first + 4;
	to.leaf = true;
	CHECK(!cp_cfi_forward_reads_on(&f, false, &to));
	to.leaf = false;
	leaf.words[3] = 77;
	CHECK(cp_cfi_forward_reads_on(&f, false, &to));
	CHECK_EQ(to.ra, 77);
	generated_unmap(leaf.code);
}

int main(void)
{
	unwinder = &cp_unwinder_dwarf;
	CHECK_EQ(unwinder->prepare(), 0);
	harness_all();
	return harness_end();
}

#elif defined(__aarch64__)

/* As cryptographic code is written: a frame that no table describes, whose record is at its lowest
 * address, with room above. TRAP stops in it; its caller is described and keeps a record. */
int undescribed_leaf(void), undescribed_caller(void), frameless_leaf(void);
int calls_leaf(int (*f)(void));
__asm__(".text\n.p2align 4\n"
	".globl undescribed_leaf, undescribed_caller, frameless_leaf, calls_leaf\n"
	".type undescribed_leaf, %function\nundescribed_leaf:\n"
	"\thint #25\n\tstp x29, x30, [sp, #-128]!\n\tmov x29, sp\n\tbrk #1\n"
	"\tldp x29, x30, [sp], #128\n\thint #29\n\tret\n"
	".size undescribed_leaf, . - undescribed_leaf\n"
	".type undescribed_caller, %function\nundescribed_caller:\n"
	"\thint #25\n\tstp x29, x30, [sp, #-96]!\n\tmov x29, sp\n\tbl frameless_leaf\n"
	"\tldp x29, x30, [sp], #96\n\thint #29\n\tret\n"
	".size undescribed_caller, . - undescribed_caller\n"
	".type frameless_leaf, %function\nframeless_leaf:\n\tbrk #1\n\tret\n"
	".size frameless_leaf, . - frameless_leaf\n"
	".type calls_leaf, %function\ncalls_leaf:\n\t.cfi_startproc\n"
	"\tstp x29, x30, [sp, #-48]!\n\t.cfi_def_cfa_offset 48\n\t.cfi_offset x29, -48\n"
	"\t.cfi_offset x30, -40\n\tmov x29, sp\n\tblr x0\n"
	"\tldp x29, x30, [sp], #48\n\t.cfi_restore x29\n\t.cfi_restore x30\n"
	"\t.cfi_def_cfa_offset 0\n\tret\n"
	".cfi_endproc\n.size calls_leaf, . - calls_leaf\n.p2align 4");

static NOINLINE int note_and_call(int (*f)(void))
{
	int r;

	NOTE();
	r = calls_leaf(f);
	AFTER_CALL();
	return r;
}

/* F is N frames deep below calls_leaf. The second time by what was learnt. */
static void check_leaf(int (*f)(void), unsigned n)
{
	for (int round = 0; round < 2; round++) {
		chains_begin();
		note_and_call(f);
		CHECK_EQ(walked.pcs[n], (uint64_t)calls_leaf + 11);
		CHECK_EQ(noted_at(), n + 2);
		CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	}
}

TEST(test_an_undescribed_leaf_with_a_frame)
{
	check_leaf(undescribed_leaf, 1);
}

TEST(test_an_undescribed_leaf_without_a_frame)
{
	check_leaf(frameless_leaf, 1);
}

TEST(test_an_undescribed_caller)
{
	check_leaf(undescribed_caller, 2);
}

int main(void)
{
	unwinder = &cp_unwinder_dwarf;
	CHECK_EQ(unwinder->prepare(), 0);
	harness_all();
	return harness_end();
}

#endif
