/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions as they are read where no call frame information tells of the stack pointer. */
#include "harness.h"

#include "unwind/guess/cfi_insn.h"
#include "unwind/signal/unwind_signal.h"

#if defined(__x86_64__)

struct row {
	const char *code;
	uint8_t size;
	enum cp_insn_kind kind;
	int32_t by;
	uint8_t reg;
};

/* clang-format off */
static const struct row rows[] = {
	{ "\x90", 1, CP_INSN_PLAIN, 0, 0 }, /* nop */
	{ "\xf3\x0f\x1e\xfa", 4, CP_INSN_PLAIN, 0, 0 }, /* endbr64 */
	{ "\x48\x89\xe5", 3, CP_INSN_PLAIN, 0, 0 }, /* mov %rsp,%rbp */
	{ "\x48\x89\xc3", 3, CP_INSN_PLAIN, 0, 0 }, /* mov %rax,%rbx */
	{ "\x42\x8b\x04\x4f", 4, CP_INSN_PLAIN, 0, 0 }, /* mov (%rdi,%r9,2),%eax */
	{ "\x8b\x44\x24\x40", 4, CP_INSN_PLAIN, 0, 0 }, /* mov 64(%rsp),%eax */
	{ "\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11", 10, CP_INSN_PLAIN, 0, 0 }, /* mov $0x1122334455667788,%rax */
	{ "\xb9\x01\x00\x00\x00", 5, CP_INSN_PLAIN, 0, 0 }, /* mov $1,%ecx */
	{ "\x66\xb9\x01\x00", 4, CP_INSN_PLAIN, 0, 0 }, /* mov $1,%cx */
	{ "\xa2\x88\x77\x66\x55\x44\x33\x22\x11", 9, CP_INSN_PLAIN, 0, 0 }, /* movabs %al,0x1122334455667788 */
	{ "\x48\x8d\x44\x24\x08", 5, CP_INSN_PLAIN, 0, 0 }, /* lea 8(%rsp),%rax */
	{ "\x48\x8d\x05\x45\x23\x01\x00", 7, CP_INSN_PLAIN, 0, 0 }, /* lea 0x12345(%rip),%rax */
	{ "\x48\x83\xc7\x08", 4, CP_INSN_PLAIN, 0, 0 }, /* add $8,%rdi */
	{ "\x48\x83\xfc\x08", 4, CP_INSN_PLAIN, 0, 0 }, /* cmp $8,%rsp */
	{ "\x48\x85\xe4", 3, CP_INSN_PLAIN, 0, 0 }, /* test %rsp,%rsp */
	{ "\x83\x44\x24\x10\x1f", 5, CP_INSN_PLAIN, 0, 0 }, /* addl $0x1f,0x10(%rsp) */
	{ "\x48\x69\xc8\xe8\x03\x00\x00", 7, CP_INSN_PLAIN, 0, 0 }, /* imul $1000,%rax,%rcx */
	{ "\xf6\xc4\x01", 3, CP_INSN_PLAIN, 0, 0 }, /* testb $1,%ah */
	{ "\x88\xe0", 2, CP_INSN_PLAIN, 0, 0 }, /* mov %ah,%al */
	{ "\x88\xc4", 2, CP_INSN_PLAIN, 0, 0 }, /* mov %al,%ah */
	{ "\xf7\x18", 2, CP_INSN_PLAIN, 0, 0 }, /* negl (%rax) */
	{ "\xf7\x00\x00\x10\x00\x00", 6, CP_INSN_PLAIN, 0, 0 }, /* testl $0x1000,(%rax) */
	{ "\x48\x0f\x45\xc8", 4, CP_INSN_PLAIN, 0, 0 }, /* cmovne %rax,%rcx */
	{ "\x0f\xb6\x08", 3, CP_INSN_PLAIN, 0, 0 }, /* movzbl (%rax),%ecx */
	{ "\x0f\xc8", 2, CP_INSN_PLAIN, 0, 0 }, /* bswap %eax */
	{ "\x48\x0f\xa4\xc1\x03", 5, CP_INSN_PLAIN, 0, 0 }, /* shld $3,%rax,%rcx */
	{ "\xf3\x48\xab", 3, CP_INSN_PLAIN, 0, 0 }, /* rep stosq */
	{ "\xf0\x48\x0f\xb1\x0a", 5, CP_INSN_PLAIN, 0, 0 }, /* lock cmpxchg %rcx,(%rdx) */
	{ "\x66\x90", 2, CP_INSN_PLAIN, 0, 0 }, /* xchg %ax,%ax */
	{ "\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 15, CP_INSN_PLAIN, 0, 0 }, /* nopw %cs:0(%rax,%rax,1) */
	{ "\x66\x48\x35\x11\x22\x33\x44", 7, CP_INSN_PLAIN, 0, 0 }, /* xor $0x44332211,%rax */
	{ "\x75\x62", 2, CP_INSN_PLAIN, 98, 0 }, /* jne .+100 */
	{ "\x0f\x85\xe2\x03\x00\x00", 6, CP_INSN_PLAIN, 994, 0 }, /* jne .+1000 */
	{ "\x0f\x77", 2, CP_INSN_PLAIN, 0, 0 }, /* emms */
	{ "\xc5\xf8\x77", 3, CP_INSN_PLAIN, 0, 0 }, /* vzeroupper */
	{ "\x0f\x70\xd0\x4e", 4, CP_INSN_PLAIN, 0, 0 }, /* pshufw $0x4e,%mm0,%mm2 */
	{ "\x0f\xfd\x44\x24\x40", 5, CP_INSN_PLAIN, 0, 0 }, /* paddw 0x40(%rsp),%mm0 */
	{ "\x66\x0f\x6f\x2d\x90\xf5\x06\x00", 8, CP_INSN_PLAIN, 0, 0 }, /* movdqa 0x6f590(%rip),%xmm5 */
	{ "\x66\x0f\x3a\x0f\xc8\x08", 6, CP_INSN_PLAIN, 0, 0 }, /* palignr $8,%xmm0,%xmm1 */
	{ "\x66\x0f\x38\x00\xd1", 5, CP_INSN_PLAIN, 0, 0 }, /* pshufb %xmm1,%xmm2 */
	{ "\xc4\xe3\x79\x0f\xc2\x01", 6, CP_INSN_PLAIN, 0, 0 }, /* vpalignr $1,%xmm2,%xmm0,%xmm0 */
	{ "\xc4\xa1\x65\xfd\x84\x8f\x00\x01\x00\x00", 10, CP_INSN_PLAIN, 0, 0 }, /* vpaddw 0x100(%rdi,%r9,4),%ymm3,%ymm0 */
	{ "\xc4\xc1\x7d\x7f\x18", 5, CP_INSN_PLAIN, 0, 0 }, /* vmovdqa %ymm3,(%r8) */
	{ "\xc4\xe2\x7d\x5a\x3d\x3d\xfe\x06\x00", 9, CP_INSN_PLAIN, 0, 0 }, /* vbroadcasti128 0x6fe3d(%rip),%ymm7 */
	{ "\xc5\xec\xc2\xd9\x01", 5, CP_INSN_PLAIN, 0, 0 }, /* vcmpps $1,%ymm1,%ymm2,%ymm3 */
	{ "\x62\xe1\x7d\x48\x6f\x04\x16", 7, CP_INSN_PLAIN, 0, 0 }, /* vmovdqa32 (%rsi,%rdx,1),%zmm16 */
	{ "\x62\xe1\x7d\x49\x7f\x44\x17\x01", 8, CP_INSN_PLAIN, 0, 0 }, /* vmovdqa32 %zmm16,0x40(%rdi,%rdx,1){%k1} */
	{ "\x62\xf3\x6d\x48\x25\xd9\xd2", 7, CP_INSN_PLAIN, 0, 0 }, /* vpternlogd $0xd2,%zmm1,%zmm2,%zmm3 */
	{ "\x62\xf1\x7d\x48\x78\xd1", 6, CP_INSN_PLAIN, 0, 0 }, /* vcvttps2uqq %ymm1,%zmm2 */
	{ "\xc5\xf8\x92\xc9", 4, CP_INSN_PLAIN, 0, 0 }, /* kmovw %ecx,%k1 */
	{ "\xc4\xe3\x7b\xf0\xca\x02", 6, CP_INSN_PLAIN, 0, 0 }, /* rorx $2,%edx,%ecx */
	{ "\x8f\xc8\x68\xa3\xe0\x70", 6, CP_INSN_PLAIN, 0, 0 }, /* vpperm %xmm7,%xmm8,%xmm2,%xmm4 */
	{ "\xdb\x6c\x24\x10", 4, CP_INSN_PLAIN, 0, 0 }, /* fldt 0x10(%rsp) */
	{ "\x0f\x05", 2, CP_INSN_PLAIN, 0, 0 }, /* syscall */
	{ "\xe8\xe3\x03\x00\x00", 5, CP_INSN_CALLS, 0, 0 }, /* call .+1000 */
	{ "\xff\xd0", 2, CP_INSN_CALLS, 0, 0 }, /* call *%rax */
	{ "\xff\x93\x28\xbb\x00\x00", 6, CP_INSN_CALLS, 0, 0 }, /* call *0xbb28(%rbx) */
	{ "\x48\x83\xc4\x10", 4, CP_INSN_MOVES, 16, 0 }, /* add $16,%rsp */
	{ "\x48\x81\xc4\xc8\x02\x00\x00", 7, CP_INSN_MOVES, 712, 0 }, /* add $712,%rsp */
	{ "\x66\x48\x81\xc4\xc8\x02\x00\x00", 8, CP_INSN_MOVES, 712, 0 }, /* the same, with 66 */
	{ "\x66\x66\x48\xe8\xe3\x03\x00\x00", 8, CP_INSN_CALLS, 0, 0 }, /* call .+1000, of TLS */
	{ "\x48\x83\xec\x18", 4, CP_INSN_MOVES, -24, 0 }, /* sub $24,%rsp */
	{ "\x48\x83\xec\x80", 4, CP_INSN_MOVES, 128, 0 }, /* sub $-128,%rsp */
	{ "\x48\x8d\x64\x24\x08", 5, CP_INSN_MOVES, 8, 0 }, /* lea 8(%rsp),%rsp */
	{ "\x48\x8d\xa4\x24\x00\xfc\xff\xff", 8, CP_INSN_MOVES, -1024, 0 }, /* lea -1024(%rsp),%rsp */
	{ "\x9d", 1, CP_INSN_MOVES, 8, 0 }, /* popfq */
	{ "\x50", 1, CP_INSN_PUSHES, -8, 0 }, /* push %rax */
	{ "\x41\x54", 2, CP_INSN_PUSHES, -8, 0 }, /* push %r12 */
	{ "\x6a\x01", 2, CP_INSN_PUSHES, -8, 0 }, /* push $1 */
	{ "\x68\xe8\x03\x00\x00", 5, CP_INSN_PUSHES, -8, 0 }, /* push $1000 */
	{ "\xff\x70\x08", 3, CP_INSN_PUSHES, -8, 0 }, /* pushq 8(%rax) */
	{ "\x9c", 1, CP_INSN_PUSHES, -8, 0 }, /* pushfq */
	{ "\x5b", 1, CP_INSN_POPS, 8, 3 }, /* pop %rbx */
	{ "\x41\x5c", 2, CP_INSN_POPS, 8, 12 }, /* pop %r12 */
	{ "\x48\x8b\x5c\x24\x08", 5, CP_INSN_READS, 8, 3 }, /* mov 8(%rsp),%rbx */
	{ "\x48\x8b\xac\x24\x80\x04\x00\x00", 8, CP_INSN_READS, 1152, 6 }, /* mov 1152(%rsp),%rbp */
	{ "\x48\x8b\x64\x24\x20", 5, CP_INSN_READS, 32, 7 }, /* mov 32(%rsp),%rsp */
	{ "\x48\x8b\x04\x24", 4, CP_INSN_READS, 0, 0 }, /* mov (%rsp),%rax */
	{ "\x48\x89\x54\x24\x10", 5, CP_INSN_STORES, 16, 1 }, /* mov %rdx,16(%rsp) */
	{ "\x89\x44\x24\x08", 4, CP_INSN_STORES, 8, 0 }, /* mov %eax,8(%rsp) */
	{ "\xeb\x62", 2, CP_INSN_JUMPS, 98, 0 }, /* jmp .+100 */
	{ "\xe9\xe3\x03\x00\x00", 5, CP_INSN_JUMPS, 995, 0 }, /* jmp .+1000 */
	{ "\xc3", 1, CP_INSN_RETURNS, 0, 0 }, /* ret */
	{ "\xf3\xc3", 2, CP_INSN_RETURNS, 0, 0 }, /* rep ret */
	{ "\xf2\xc3", 2, CP_INSN_RETURNS, 0, 0 }, /* bnd ret */
	{ "\xc2\x08\x00", 3, CP_INSN_OTHER, 0, 0 }, /* ret $8 */
	{ "\xc9", 1, CP_INSN_OTHER, 0, 0 }, /* leave */
	{ "\xc8\x08\x00\x00", 4, CP_INSN_OTHER, 0, 0 }, /* enter $8,$0 */
	{ "\x48\x83\xe4\xe0", 4, CP_INSN_OTHER, 0, 0 }, /* and $-32,%rsp */
	{ "\x48\x89\xec", 3, CP_INSN_OTHER, 0, 0 }, /* mov %rbp,%rsp */
	{ "\x48\x8b\x20", 3, CP_INSN_OTHER, 0, 0 }, /* mov (%rax),%rsp */
	{ "\x8b\x64\x24\x08", 4, CP_INSN_OTHER, 0, 0 }, /* mov 8(%rsp),%esp */
	{ "\x48\x8d\x24\x04", 4, CP_INSN_OTHER, 0, 0 }, /* lea (%rsp,%rax),%rsp */
	{ "\x49\x8d\x67\x08", 4, CP_INSN_OTHER, 0, 0 }, /* lea 8(%r15),%rsp */
	{ "\x48\x01\xc4", 3, CP_INSN_OTHER, 0, 0 }, /* add %rax,%rsp */
	{ "\x48\x03\x60\x08", 4, CP_INSN_OTHER, 0, 0 }, /* add 8(%rax),%rsp */
	{ "\x83\xec\x08", 3, CP_INSN_OTHER, 0, 0 }, /* sub $8,%esp */
	{ "\x48\x94", 2, CP_INSN_OTHER, 0, 0 }, /* xchg %rax,%rsp */
	{ "\x48\xff\xc4", 3, CP_INSN_OTHER, 0, 0 }, /* inc %rsp */
	{ "\x48\xbc\x88\x77\x66\x55\x44\x33\x22\x11", 10, CP_INSN_OTHER, 0, 0 }, /* mov $0x1122334455667788,%rsp */
	{ "\x48\x0f\x45\xe0", 4, CP_INSN_OTHER, 0, 0 }, /* cmovne %rax,%rsp */
	{ "\x48\x63\xe0", 3, CP_INSN_OTHER, 0, 0 }, /* movslq %eax,%rsp */
	{ "\x5c", 1, CP_INSN_OTHER, 0, 0 }, /* pop %rsp */
	{ "\x8f\x00", 2, CP_INSN_OTHER, 0, 0 }, /* pop (%rax) */
	{ "\x66\x50", 2, CP_INSN_OTHER, 0, 0 }, /* push %ax */
	{ "\x66\xff\x30", 3, CP_INSN_OTHER, 0, 0 }, /* pushw (%rax) */
	{ "\x66\x0f\xa0", 3, CP_INSN_OTHER, 0, 0 }, /* pushw %fs */
	{ "\x66\xc3", 2, CP_INSN_OTHER, 0, 0 }, /* retw */
	{ "\x66\xff\xd0", 3, CP_INSN_OTHER, 0, 0 }, /* callw *%ax */
	{ "\x66\xe9\xe3\x03\x00\x00", 6, CP_INSN_OTHER, 0, 0 }, /* jmpw .+1000, or jmp */
	{ "\x48\x81\xec\x00\x00\x00\x80", 7, CP_INSN_OTHER, 0, 0 }, /* sub $-0x80000000,%rsp */
	{ "\xff\xe0", 2, CP_INSN_OTHER, 0, 0 }, /* jmp *%rax */
	{ "\x48\x8b\x5d\xf8", 4, CP_INSN_OTHER, 0, 0 }, /* mov -8(%rbp),%rbx */
	{ "\x0f\x0b", 2, CP_INSN_OTHER, 0, 0 }, /* ud2 */
	{ "\xcc", 1, CP_INSN_OTHER, 0, 0 }, /* int3 */
	{ "\xf4", 1, CP_INSN_OTHER, 0, 0 }, /* hlt */
};
/* clang-format on */

TEST(test_instructions_have_their_length_and_do_to_sp_what_they_do)
{
	for (size_t n = 0; n < sizeof(rows) / sizeof(*rows); n++) {
		const struct row *r = &rows[n];
		uint8_t code[CP_INSN_BYTES];
		struct cp_insn i;

		/* The bytes after it do not matter. */
		for (int behind = 0; behind < 2; behind++) {
			memset(code, behind ? 0xff : 0, sizeof(code));
			memcpy(code, r->code, r->size);
			i = cp_cfi_insn_read(code);
			CHECK_EQ(i.kind, r->kind);
			CHECK_EQ(i.size, r->size);
			CHECK(i.kind == CP_INSN_OTHER || i.by == r->by);
			CHECK((i.kind != CP_INSN_POPS && i.kind != CP_INSN_READS) ||
			      i.reg == r->reg);
		}
	}
}

TEST(test_any_bytes_are_read_within_bounds)
{
	uint8_t code[CP_INSN_BYTES];
	uint64_t x = 1;

	for (int n = 0; n < 1000000; n++) {
		for (size_t i = 0; i < sizeof(code); i++) {
			x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
			code[i] = (uint8_t)(x >> 56);
		}
		/* Opcodes of each map, also after many prefixes. */
		if (n % 4 == 1)
			memset(code, 0x66, 1 + code[23] % 23);
		if (n % 4 == 2)
			code[0] = 0x62;
		if (n % 4 == 3)
			code[0] = 0xc4;
		CHECK(cp_cfi_insn_read(code).size < CP_INSN_BYTES);
		cp_cfi_insn_fills(code);
	}
	memset(code, 0x66, sizeof(code));
	CHECK(!cp_cfi_insn_fills(code));
}

TEST(test_what_fills_the_end_of_a_function)
{
	CHECK(cp_cfi_insn_fills((const uint8_t *)"\x90"));
	CHECK(cp_cfi_insn_fills((const uint8_t *)"\xcc"));
	CHECK(cp_cfi_insn_fills((const uint8_t *)"\x66\x90"));
	CHECK(cp_cfi_insn_fills((const uint8_t *)"\x0f\x1f\x00"));
	CHECK(cp_cfi_insn_fills((const uint8_t *)"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"));
	CHECK(cp_cfi_insn_fills((const uint8_t *)"\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84"));
	CHECK(!cp_cfi_insn_fills((const uint8_t *)"\x0f\x1e\xfa"));
	CHECK(!cp_cfi_insn_fills((const uint8_t *)"\xc3"));
}

static uint64_t extent(const char *bytes, uint64_t n)
{
	uint8_t code[64 + CP_INSN_BYTES] = { 0 };

	memcpy(code, bytes, n);
	return cp_cfi_forward_extent(code, n);
}

TEST(test_a_function_ends_where_it_neither_goes_on_nor_has_jumped)
{
	/* jne over a ret to the next one; then a function that nothing names */
	CHECK_EQ(extent("\x48\x89\xf8\x75\x01\xc3\xc3\x90\xc3", 9), 7);
	/* A jump further on doesn't make the function reach over code that it hasn't jumped to. */
	CHECK_EQ(extent("\x75\x03\xc3\x90\x90\xc3", 6), 3);
	/* A loop that goes back, and a jump to another function. */
	CHECK_EQ(extent("\x90\xeb\xfd\x90\xc3", 5), 3);
	CHECK_EQ(extent("\x90\xff\xe0\xc3", 4), 3);
	/* No instruction, and one that isn't whole. */
	CHECK_EQ(extent("\x90\x06\xc3", 3), 1);
	CHECK_EQ(extent("\x90\x48\x89", 3), 1);
}

#else

/* Calls leave their return address in a register: nothing is read. */
TEST(test_nothing_is_read_here)
{
	CHECK_EQ(cp_cfi_insn_read((const uint8_t *)"").kind, CP_INSN_OTHER);
}

#endif
