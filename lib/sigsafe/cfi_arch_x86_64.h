/* x86_64: what the unwinders know about registers, calls and signal frames. */
#ifndef CP_CFI_ARCH_X86_64_H
#define CP_CFI_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/arch.h"

/* User code lies below; anything else on a stack is no return address. */
#define CP_CFI_PC_BITS 47

#define CP_CFI_RBX 3
/* The value a register has when nothing was read into it is kept over a call for these. */
#define CP_CFI_CALLEE_SAVED                                                                        \
	(1u << CP_CFI_RBX | 1u << CP_REG_FP | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)

/* One column for each register that call frame information may describe. */
#define CP_CFI_COLUMNS 17
#define CP_CFI_RA 16
static inline unsigned cp_cfi_column(uint64_t reg)
{
	return reg < CP_CFI_COLUMNS ? (unsigned)reg : CP_CFI_COLUMNS;
}
#define cp_cfi_register(column) (column)

/* `call` pushes, so that the caller's sp is always above its callee's. */
#define CP_CFI_CALL_PUSHES 1

static inline uint64_t cp_cfi_strip(uint64_t ra)
{
	return ra;
}

/* Code bytes before a return address that cp_cfi_is_call wants to see. */
#define CP_CFI_CALL_BYTES 7

/* Is the instruction that ends at END a call? Indirect forms are FF /2 with 0 to
 * 5 bytes of address behind the ModRM byte. */
static inline bool cp_cfi_is_call(const uint8_t *end)
{
	if (end[-5] == 0xe8)
		return true;
	if (end[-2] == 0xff && ((end[-1] & 0xf8) == 0xd0 ||
				((end[-1] & 0xf8) == 0x10 && end[-1] != 0x14 && end[-1] != 0x15)))
		return true;
	if (end[-3] == 0xff && ((end[-2] & 0xf8) == 0x50 || end[-2] == 0x14))
		return true;
	if (end[-4] == 0xff && end[-3] == 0x54)
		return true;
	if (end[-6] == 0xff && ((end[-5] & 0xf8) == 0x90 || end[-5] == 0x15))
		return true;
	return end[-7] == 0xff && (end[-6] == 0x94 || end[-6] == 0x14);
}

/* A signal trampoline without call frame information (musl's):
 * mov $SYS_rt_sigreturn, %rax; syscall. */
#define CP_CFI_SIGRETURN_BYTES 9
static inline bool cp_cfi_is_sigreturn(const uint8_t *pc)
{
	static const uint8_t code[CP_CFI_SIGRETURN_BYTES] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00,
							      0x00, 0x00, 0x0f, 0x05 };

	return !__builtin_memcmp(pc, code, sizeof(code));
}

/* Where the kernel's signal frame keeps register REG, with sp as at the trampoline:
 * struct ucontext, its mcontext at 40. */
static inline uint64_t cp_cfi_sigframe_slot(uint64_t sp, unsigned reg)
{
	static const uint8_t at[CP_REGS] = { 13, 12, 14, 11, 9, 8, 10, 15, 0,
					     1,	 2,  3,	 4,  5, 6, 7,  16 };

	return sp + 40 + 8u * at[reg];
}

#endif
