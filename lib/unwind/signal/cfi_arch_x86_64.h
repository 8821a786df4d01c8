/* SPDX-License-Identifier: BSD-3-Clause */
/* x86_64: the unwinders' knowledge of registers, calls and signal frames. */
#ifndef CP_CFI_ARCH_X86_64_H
#define CP_CFI_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arch.h"

/* User code lies below 2^47; any other value on a stack is not a return address. */
#define CP_CFI_PC_BITS 47

/* cp_ticks() shifted down by this many bits counts moments of 0.2 to 0.5 s: these processors'
 * counters run at 2 to 5 GHz. */
#define CP_CFI_MOMENT 30

#define CP_CFI_RBX 3
/* These registers keep their values over a call, so a register that no rule restores has its old
 * value. */
#define CP_CFI_CALLEE_SAVED                                                                        \
	(1u << CP_CFI_RBX | 1u << CP_REG_FP | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)

/* Columns for the callee-saved registers, sp and the return address. Other registers are known only
 * where a signal interrupted, and are read from its frame. */
#define CP_CFI_COLUMNS 8
#define CP_CFI_RA 7
static inline unsigned cp_cfi_column(uint64_t reg)
{
	static const uint8_t column[CP_REGS] = {
		8, 8, 8, 0, 8, 8, 1, 2, 8, 8, 8, 8, 3, 4, 5, 6, 7
	};

	return reg < CP_REGS ? column[reg] : CP_CFI_COLUMNS;
}
static inline unsigned cp_cfi_register(unsigned column)
{
	static const uint8_t reg[CP_CFI_COLUMNS] = { 3, 6, 7, 12, 13, 14, 15, 16 };

	return reg[column];
}

/* Values that all CIEs of compilers share: code counted in bytes, data in words downwards; the CFA
 * is sp + 8, with the return address right below it. */
#define CP_CFI_USUAL_UNITS "\x01\x78\x10"
#define CP_CFI_USUAL_BEGIN "\x0c\x07\x08\x90\x01"
#define CP_CFI_USUAL_CODE_ALIGN 1
#define CP_CFI_USUAL_CFA_OFFSET 8

/* `call` pushes, so the caller's sp is always above its callee's. */
#define CP_CFI_CALL_PUSHES 1

static inline uint64_t cp_cfi_strip(uint64_t ra)
{
	return ra;
}

/* Number of code bytes before a return address that cp_cfi_is_call reads. */
#define CP_CFI_CALL_BYTES 7

/* Is the instruction that ends at END a call? Indirect forms are FF /2 with 0 to 5 bytes of address
 * after the ModRM byte. */
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

/* Returns the DWARF number of the register that instructions number N: rax, rcx, rdx, rbx, rsp,
 * rbp, rsi, rdi. */
static inline unsigned cp_cfi_number(unsigned n)
{
	static const uint8_t dwarf[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	return n < 8 ? dwarf[n] : n;
}

/* Returns the register, one of the first eight, that the instruction OP pushes, or CP_REGS if OP
 * isn't a push. */
static inline unsigned cp_cfi_push(uint8_t op)
{
	return (op & 0xf8) == 0x50 ? cp_cfi_number(op & 7) : CP_REGS;
}

/* Returns how many bytes the instruction that ends at END subtracted from sp: sub $n, %rsp. */
#define CP_CFI_RESERVE_BYTES 4
static inline unsigned cp_cfi_reserved(const uint8_t *end)
{
	return end[-4] == 0x48 && end[-3] == 0x83 && end[-2] == 0xec && end[-1] < 0x80 ? end[-1]
										       : 0;
}

/* Did the instruction that ends at END align sp: and $-n, %rsp? Then the word at sp is not a return
 * address. */
static inline bool cp_cfi_aligned(const uint8_t *end)
{
	return end[-4] == 0x48 && end[-3] == 0x83 && end[-2] == 0xe4;
}

/* Does CODE, after a call, pass the int result on as the only argument of the next call, as
 * exit(main(...)) does? Or, if the call was BY_POINTER, the pointer, as pthread_exit(start(...))
 * does? */
#define CP_CFI_PASSES_ON_BYTES 4
static inline bool cp_cfi_passes_on(const uint8_t *code, bool by_pointer)
{
	if (by_pointer && code[0] == 0x48) /* mov %rax, %rdi */
		code++;
	return code[0] == 0x89 && code[1] == 0xc7 && code[2] == 0xe8; /* mov %eax, %edi; call */
}

/* Returns the target of the call that ends at END with return address RA. If *SLOT is set, the
 * result is the address of the word that holds the target. 0 = the target was in a register. */
static inline uint64_t cp_cfi_call_target(const uint8_t *end, uint64_t ra, bool *slot)
{
	int32_t offset;

	__builtin_memcpy(&offset, end - sizeof(offset), sizeof(offset));
	*slot = end[-6] == 0xff && end[-5] == 0x15; /* call *offset(%rip) */
	return end[-5] == 0xe8 || *slot ? ra + (uint64_t)(int64_t)offset : 0;
}

/* Returns the address of the word that holds the target of the PLT stub at STUB, whose code is at
 * CODE; 0 = it is not such a stub: endbr64, bnd jmp *offset(%rip), where endbr64 and bnd are
 * optional. */
#define CP_CFI_STUB_BYTES 11
static inline uint64_t cp_cfi_stub_slot(const uint8_t *code, uint64_t stub)
{
	static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned i = __builtin_memcmp(code, endbr, 4) ? 0 : 4;
	int32_t offset;

	i += code[i] == 0xf2;
	if (code[i] != 0xff || code[i + 1] != 0x25)
		return 0;
	__builtin_memcpy(&offset, code + i + 2, sizeof(offset));
	return stub + i + 6 + (uint64_t)(int64_t)offset;
}

/* See cfi_arch_aarch64.h. */
static inline bool cp_cfi_is_behind_stub(const uint8_t *p, const uint8_t *end)
{
	return false;
}

/* Returns the target of the jump at AT, whose code is at CODE: jmp offset, after an optional
 * endbr64. 0 = it is not a jump. */
static inline uint64_t cp_cfi_jump_target(const uint8_t *code, uint64_t at)
{
	static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned i = __builtin_memcmp(code, endbr, 4) ? 0 : 4;
	int32_t offset;

	if (code[i] == 0xeb)
		return at + i + 2 + (uint64_t)(int64_t)(int8_t)code[i + 1];
	if (code[i] != 0xe9)
		return 0;
	__builtin_memcpy(&offset, code + i + 1, sizeof(offset));
	return at + i + 5 + (uint64_t)(int64_t)offset;
}

/* Stores the registers that the pushes at the start of CODE (N bytes) save to REGS, in order, at
 * most MAX. Returns their number. */
static inline unsigned cp_cfi_pushed(const uint8_t *code, unsigned n, uint8_t *regs, unsigned max)
{
	static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned i = n >= 4 && !__builtin_memcmp(code, endbr, 4) ? 4 : 0, count = 0;

	for (; i + 1 < n && count < max; i++) {
		bool high = code[i] == 0x41;

		i += high;
		if ((code[i] & 0xf8) != 0x50)
			break;
		regs[count++] = (uint8_t)cp_cfi_number((code[i] & 7) | (high ? 8 : 0));
	}
	return count;
}

/* Returns the size of the operands that begin with the ModRM byte at P, including that byte. */
static inline unsigned cp_cfi_modrm_bytes(const uint8_t *p)
{
	unsigned mod = p[0] >> 6, rm = p[0] & 7, n = 1;

	if (mod == 3)
		return 1;
	if (rm == 4)
		n++;
	if (mod == 1)
		return n + 1;
	if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (p[1] & 7) == 5))))
		return n + 4;
	return n;
}

/* Returns the length of an instruction that compilers mix into a function's prologue and that
 * leaves sp and the frame pointer alone: a move, an address computation, a comparison. P must have
 * 16 bytes. 0: another instruction. */
static inline unsigned cp_cfi_harmless(const uint8_t *p)
{
	const uint8_t *at = p;
	bool wide = false, high_reg = false, high_rm = false;
	unsigned reg, rm;

	if (*at == 0x66 || *at == 0xf2 || *at == 0xf3)
		at++;
	if ((*at & 0xf0) == 0x40) {
		wide = *at & 8;
		high_reg = *at & 4;
		high_rm = *at & 1;
		at++;
	}
	if ((*at & 0xf8) == 0xb8) /* mov $n, %reg */
		return !high_rm && ((*at & 7) == 4 || (*at & 7) == 5)
			       ? 0
			       : (unsigned)(at + 1 + (wide ? 8 : 4) - p);
	if (*at == 0x0f) {
		at++;
		switch (*at++) {
		case 0x10:
		case 0x11:
		case 0x28:
		case 0x29:
		case 0x57:
		case 0x6e:
		case 0x6f:
		case 0x7e:
		case 0x7f:
		case 0x1f:
		case 0xef: /* vector moves, and nop */
			return (unsigned)(at + cp_cfi_modrm_bytes(at) - p);
		case 0xb6:
		case 0xb7:
		case 0xbe:
		case 0xbf: break; /* mov with extension */
		default: return 0;
		}
		reg = at[0] >> 3 & 7;
		return !high_reg && (reg == 4 || reg == 5)
			       ? 0
			       : (unsigned)(at + cp_cfi_modrm_bytes(at) - p);
	}
	reg = at[1] >> 3 & 7;
	rm = at[1] & 7;
	switch (*at++) {
	case 0x85:
	case 0x39:
	case 0x3b:
	case 0x38:
	case 0x84: /* compare, test */ return (unsigned)(at + cp_cfi_modrm_bytes(at) - p);
	case 0x8b:
	case 0x8d:
	case 0x33:
	case 0x63: /* into a register */
		return !high_reg && (reg == 4 || reg == 5)
			       ? 0
			       : (unsigned)(at + cp_cfi_modrm_bytes(at) - p);
	case 0x89:
	case 0x31: /* into a register or memory */
		return at[0] >> 6 == 3 && !high_rm && (rm == 4 || rm == 5)
			       ? 0
			       : (unsigned)(at + cp_cfi_modrm_bytes(at) - p);
	case 0xc7: /* mov $n, memory */
		return at[0] >> 6 == 3 ? 0 : (unsigned)(at + cp_cfi_modrm_bytes(at) + 4 - p);
	case 0x83: /* cmp $n */
		return reg == 7 ? (unsigned)(at + cp_cfi_modrm_bytes(at) + 1 - p) : 0;
	default: return 0;
	}
}

/* Returns the register that holds the return address, if push %reg; ret follow at CODE; else
 * CP_REGS. */
#define CP_CFI_RETURN_BYTES 8 /* room for these and the longest instruction of cp_cfi_moves_sp */
static inline unsigned cp_cfi_returns_to(const uint8_t *code)
{
	bool high = code[0] == 0x41;

	code += high;
	if ((code[0] & 0xf8) != 0x50 || code[1] != 0xc3)
		return CP_REGS;
	return cp_cfi_number((code[0] & 7) | (high ? 8 : 0));
}

/* Returns the length of the instruction at CODE if it pops the arguments off the stack: add %reg,
 * %rsp; lea n(%reg), %rsp; lea n(%rsp,%reg,m), %rsp. 0: another instruction. */
static inline unsigned cp_cfi_moves_sp(const uint8_t *code)
{
	if ((code[0] & 0xfe) == 0x48 && code[1] == 0x03 && (code[2] & 0xf8) == 0xe0)
		return 3;
	if ((code[0] & 0xfb) == 0x48 && code[1] == 0x01 && (code[2] & 0xc7) == 0xc4)
		return 3;
	if ((code[0] & 0xfc) == 0x48 && code[1] == 0x8d &&
	    ((code[2] & 0xf8) == 0x60 || code[2] == 0x24))
		return code[2] == 0x64 ? 5 : 4;
	return 0;
}

/* Returns sp after that instruction, with the registers R. */
static inline uint64_t cp_cfi_moved_sp(const uint8_t *code, const uint64_t *r)
{
	unsigned rex = code[0], sib = code[3], mod = code[2] >> 6;
	unsigned low = code[2] & 7, high = rex & 1 ? 8 : 0, index;
	uint64_t sp;

	if (code[1] == 0x03)
		return r[CP_REG_SP] + r[cp_cfi_number(low | high)];
	if (code[1] == 0x01)
		return r[CP_REG_SP] + r[cp_cfi_number((code[2] >> 3 & 7) | (rex & 4 ? 8 : 0))];
	if (low != 4)
		return r[cp_cfi_number(low | high)] + (uint64_t)(int64_t)(int8_t)code[3];
	sp = r[cp_cfi_number((sib & 7) | high)];
	index = (sib >> 3 & 7) | (rex & 2 ? 8 : 0);
	if (index != 4)
		sp += r[cp_cfi_number(index)] << (sib >> 6);
	return mod == 1 ? sp + (uint64_t)(int64_t)(int8_t)code[4] : sp;
}

/* After the N bytes of CODE (followed by 16 more readable bytes), is the frame pointer already the
 * caller's while sp isn't? True if mov (%rbp), %rbp was the last instruction that changed either
 * register. */
#define CP_CFI_UNLINKED_BYTES 16
static inline bool cp_cfi_unlinked(const uint8_t *code, unsigned n)
{
	static const uint8_t unlink[4] = { 0x48, 0x8b, 0x6d, 0x00 };

	for (unsigned i = n - sizeof(unlink) + 1; i-- > 0;) {
		unsigned at = i + sizeof(unlink), more = 1;

		if (__builtin_memcmp(code + i, unlink, sizeof(unlink)))
			continue;
		for (; more && at < n; at += more)
			more = cp_cfi_harmless(code + at);
		return at == n;
	}
	return false;
}

/* Returns how far a function's prologue, CODE (N bytes), moves sp below the frame pointer that it
 * sets up: push %rbp; mov %rsp, %rbp; pushes; sub $size, %rsp; mixed with instructions that leave
 * sp alone. -1: the prologue has another form. */
static inline int64_t cp_cfi_frame_size(const uint8_t *code, unsigned n)
{
	static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t begin[4] = { 0x55, 0x48, 0x89, 0xe5 };
	unsigned i = n >= 4 && !__builtin_memcmp(code, endbr, 4) ? 4 : 0, more = 1;
	int64_t size = 0;
	int32_t by;

	if (n < i + 4 || __builtin_memcmp(code + i, begin, 4))
		return -1;
	for (i += 4; more && i + 16 <= n; i += more) {
		const uint8_t *p = code + i;

		if (p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xec)
			return size + (int8_t)p[3];
		if (p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xc4) /* add $-128 is shorter */
			return size - (int8_t)p[3];
		if (p[0] == 0x48 && p[1] == 0x81 && p[2] == 0xec) {
			__builtin_memcpy(&by, p + 3, sizeof(by));
			return size + by;
		}
		more = p[0] == 0x41 && (p[1] & 0xf8) == 0x50 ? 2 : (p[0] & 0xf8) == 0x50;
		if (more)
			size += 8;
		else
			more = cp_cfi_harmless(p);
	}
	return size;
}

/* Returns how much the last add $n, %rsp in the N bytes of CODE released of the frame, and sets
 * *BEHIND to the number of bytes after it. 0 = no such instruction. */
#define CP_CFI_FREED_BYTES 16
static inline unsigned cp_cfi_freed(const uint8_t *code, unsigned n, unsigned *behind)
{
	for (*behind = 0; *behind + 4 <= n; ++*behind) {
		const uint8_t *p = code + n - 4 - *behind;

		if (p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xc4 && p[3] < 0x80)
			return p[3];
	}
	return 0;
}

/* Is PC a signal trampoline without call frame information (musl's): mov $SYS_rt_sigreturn, %rax;
 * syscall? */
#define CP_CFI_SIGRETURN_BYTES 9
#define CP_CFI_SIGRETURN_CALL 7 /* where its system call is */
static inline bool cp_cfi_is_sigreturn(const uint8_t *pc)
{
	static const uint8_t code[CP_CFI_SIGRETURN_BYTES] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00,
							      0x00, 0x00, 0x0f, 0x05 };

	return !__builtin_memcmp(pc, code, sizeof(code));
}

/* Returns the address where the kernel's signal frame keeps register REG, with sp as at the
 * trampoline: struct ucontext, its mcontext at 40. */
static inline uint64_t cp_cfi_sigframe_slot(uint64_t sp, unsigned reg)
{
	static const uint8_t at[CP_REGS] = { 13, 12, 14, 11, 9, 8, 10, 15, 0,
					     1,	 2,  3,	 4,  5, 6, 7,  16 };

	return sp + 40 + 8u * at[reg];
}

#endif
