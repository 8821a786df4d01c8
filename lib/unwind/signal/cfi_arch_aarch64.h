/* SPDX-License-Identifier: BSD-3-Clause */
/* aarch64: the unwinders' knowledge of registers, calls and signal frames. */
#ifndef CP_CFI_ARCH_AARCH64_H
#define CP_CFI_ARCH_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arch.h"

/* User code lies below 2^48; any other value on a stack is not a return address. */
#define CP_CFI_PC_BITS 48

/* cp_ticks() shifted down by this many bits counts moments of 17 ms to 0.7 s: these processors'
 * counters run at 1 GHz to 25 MHz. */
#define CP_CFI_MOMENT 24

#define CP_CFI_LR 30
/* These registers keep their values over a call, so a register that no rule restores has its old
 * value. */
#define CP_CFI_CALLEE_SAVED (0x3ffu << 19 | 1u << CP_REG_FP)

/* Columns for x19..x30 and sp: the other registers are lost in every frame but the leaf, and signal
 * frames are read by their layout. */
#define CP_CFI_COLUMNS 13
#define CP_CFI_RA (CP_CFI_LR - 19)
static inline unsigned cp_cfi_column(uint64_t reg)
{
	return reg >= 19 && reg <= CP_REG_SP ? (unsigned)reg - 19 : CP_CFI_COLUMNS;
}
static inline unsigned cp_cfi_register(unsigned column)
{
	return column + 19;
}

/* Values that all CIEs of compilers share: code aligned to instructions, data counted in words
 * downwards; the CFA is sp. */
#define CP_CFI_USUAL_UNITS "\x04\x78\x1e"
#define CP_CFI_USUAL_BEGIN "\x0c\x1f\0"
#define CP_CFI_USUAL_CODE_ALIGN 4
#define CP_CFI_USUAL_CFA_OFFSET 0

/* A leaf function may leave sp as it is. */
#define CP_CFI_CALL_PUSHES 0
/* See cfi_arch_x86_64.h; for musl, to which there is no port here. */
#define CP_CFI_PASSES_ON_BYTES 1
static inline bool cp_cfi_passes_on(const uint8_t *code, bool by_pointer)
{
	return false;
}

/* Removes the signature that pointer authentication puts above the address bits. How many bits an
 * address has depends on the kernel: 36 to 48, which the processor knows. */
static inline uint64_t cp_cfi_strip(uint64_t ra)
{
	register uint64_t lr __asm__("x30") = ra;

	/* xpaclri; does nothing on processors without signatures. */
	__asm__("hint #7" : "+r"(lr));
	return lr & ((UINT64_C(1) << CP_CFI_PC_BITS) - 1);
}

/* Number of code bytes before a return address that cp_cfi_is_call reads. */
#define CP_CFI_CALL_BYTES 4

/* Is the instruction that ends at END a call: bl, blr, or an authenticating blr? */
static inline bool cp_cfi_is_call(const uint8_t *end)
{
	uint32_t insn;

	__builtin_memcpy(&insn, end - sizeof(insn), sizeof(insn));
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

/* Returns how many bytes the instruction that ends at END subtracted from sp. Not needed here: the
 * return address is in a register. */
#define CP_CFI_RESERVE_BYTES 4
static inline unsigned cp_cfi_reserved(const uint8_t *end)
{
	return 0;
}

/* Returns the target of the call that ends at END with return address RA; 0 = the target was in a
 * register. *SLOT is always false: no such call reads its target from memory. */
static inline uint64_t cp_cfi_call_target(const uint8_t *end, uint64_t ra, bool *slot)
{
	uint32_t insn;

	__builtin_memcpy(&insn, end - sizeof(insn), sizeof(insn));
	*slot = false;
	if ((insn & 0xfc000000) != 0x94000000)
		return 0;
	return ra - 4 + (uint64_t)((int64_t)((uint64_t)insn << 38) >> 36);
}

/* Returns the address of the word that holds the target of the PLT stub at STUB, whose code is at
 * CODE; 0 = it is not such a stub: [bti c;] adrp x16, page; ldr x17, [x16, #offset]. */
#define CP_CFI_STUB_BYTES 12
static inline uint64_t cp_cfi_stub_slot(const uint8_t *code, uint64_t stub)
{
	uint32_t adrp, ldr;
	uint64_t page;

	__builtin_memcpy(&adrp, code, sizeof(adrp));
	if (adrp == 0xd503245f) {
		code += 4;
		stub += 4;
		__builtin_memcpy(&adrp, code, sizeof(adrp));
	}
	__builtin_memcpy(&ldr, code + 4, sizeof(ldr));
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	return (stub & ~UINT64_C(0xfff)) + (uint64_t)((int64_t)(page << 43) >> 31) +
	       (ldr >> 10 & 0xfff) * 8u;
}

/* Not needed on aarch64, where the code that is called has a description. */
static inline uint64_t cp_cfi_jump_target(const uint8_t *code, uint64_t at)
{
	return 0;
}

/* Linkers describe no code of the PLT here. Returns by how much the stub at CODE, which is anywhere
 * in it, has lowered sp; the return address is still in its register. -1: it is not a stub. The
 * first stub of a PLT, which binds a function at its first call, begins with stp x16, x30, [sp,
 * #-16]!. CP_CFI_STUB_BEFORE bytes before CODE are read, and CP_CFI_STUB_BYTES from there on. */
#define CP_CFI_STUB_BEFORE 20
static inline int cp_cfi_stub_lowers(const uint8_t *code)
{
	bool found = false;
	uint32_t insn;

	for (unsigned before = 0; before <= CP_CFI_STUB_BEFORE; before += 4) {
		__builtin_memcpy(&insn, code - before, sizeof(insn));
		if (insn == 0xd61f0220 && before) /* br x17: the end of the stub before */
			break;
		if (insn == 0xa9bf7bf0)
			return before ? 16 : 0;
		found = found || cp_cfi_stub_slot(code - before, 0);
	}
	return found ? 0 : -1;
}

/* Do the instructions at P say at first that nothing is pushed, and after one instruction of code
 * that the return address is at CFA + 8? That is glibc's _dl_runtime_resolve: the PLT has pushed
 * two words before. */
static inline bool cp_cfi_is_behind_stub(const uint8_t *p, const uint8_t *end)
{
	static const char begin[] = "\x41\x11\x1e\x7f";

	return end - p >= 4 && !__builtin_memcmp(p, begin, 4);
}

/* No undescribed pushes are known on aarch64: stores of pairs are always described. */
static inline unsigned cp_cfi_pushed(const uint8_t *code, unsigned n, uint8_t *regs, unsigned max)
{
	return 0;
}

/* The position of the frame record isn't read from the code: the words above sp show it. */
static inline int64_t cp_cfi_frame_size(const uint8_t *code, unsigned n)
{
	return -1;
}

/* Not needed on aarch64 either. */
#define CP_CFI_FREED_BYTES 4
static inline unsigned cp_cfi_freed(const uint8_t *code, unsigned n, unsigned *behind)
{
	return 0;
}

/* The signal trampoline, in the vdso or in musl: mov x8, #SYS_rt_sigreturn; svc #0. */
#define CP_CFI_SIGRETURN_BYTES 8
#define CP_CFI_SIGRETURN_CALL 4 /* where its system call is */
static inline bool cp_cfi_is_sigreturn(const uint8_t *pc)
{
	static const uint8_t code[CP_CFI_SIGRETURN_BYTES] = { 0x68, 0x11, 0x80, 0xd2,
							      0x01, 0x00, 0x00, 0xd4 };

	return !__builtin_memcmp(pc, code, sizeof(code));
}

/* Returns the address where the kernel's signal frame keeps register REG (x0..x30, sp, pc), with sp
 * as at the trampoline: 128 bytes of siginfo, 176 bytes of ucontext up to its aligned mcontext, and
 * the fault address before the registers. */
static inline uint64_t cp_cfi_sigframe_slot(uint64_t sp, unsigned reg)
{
	return sp + 128 + 176 + 8 + 8u * reg;
}

#endif
