/* SPDX-License-Identifier: BSD-3-Clause */
/* x86_64: the architecture-dependent code of the event plane. Every function here is
 * async-signal-safe and touches neither errno nor TLS. */
#ifndef CP_ARCH_X86_64_H
#define CP_ARCH_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/libc.h"

#ifdef __clang_analyzer__
/* The analyzer doesn't know that the kernel writes through pointer arguments. */
long cp_syscall6(long n, ...);
#else
static inline long cp_syscall6(long n, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#endif

/* Returns the end of the user address space. It is the same where the processor has more levels of
 * page tables, because the kernel gives out higher addresses only on request. */
static inline uintptr_t cp_arch_user_space(const void *somewhere)
{
	return (uintptr_t)1 << 47;
}

/* Returns ADDRESS without what the processor ignores of it: nothing here. */
static inline __attribute__((always_inline)) uint64_t cp_arch_untag(uint64_t address)
{
	return address;
}

/* The largest page that a kernel may have been built for. */
#define CP_ARCH_PAGE_MAX ((uintptr_t)4096)

/* Returns a counter of constant rate, read without a system call. Only sample.h calls this
 * function, because sample.h knows whether the program allows the read. */
static inline __attribute__((always_inline)) uint64_t cp_arch_ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Prefetches the cache line of P for writing. Call before reading a word that is written right
 * afterwards and that other processors write, too. Otherwise the processor requests the line
 * twice: first shared, then for writing. P may be any address. */
static inline void cp_write_soon(const void *p)
{
	/* Not __builtin_prefetch: without -mprfchw the compiler drops the intent to write.
	 * Processors without prefetchw treat it as a no-op. */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
}

/* See arch_aarch64.h; here P needn't be aligned. */
static inline void cp_touch_atomic(const void *p)
{
	(void)*(const volatile char *)p;
}

/* Subtracts BY from *N. Returns true if *N was not more than BY; the new value of *N is then
 * meaningless. */
static inline __attribute__((always_inline)) bool cp_sub_uses_up(uint64_t *n, uint64_t by)
{
	bool up;

	/* The flags of one subtraction tell both conditions (less, equal) in one jump. Compilers
	 * test twice. */
	__asm__("subq %2, %0" : "+r"(*n), "=@ccbe"(up) : "r"(by));
	return up;
}

/* Returns whether one of BITS is set in *WORD. Other threads may change *WORD meanwhile. */
static inline __attribute__((always_inline)) bool cp_has_any_bit(const uint16_t *word,
								 uint16_t bits)
{
	bool any;

	/* A single test instruction; a relaxed load would be an instruction of its own. Volatile,
	 * so that *WORD is read every time. */
	__asm__ volatile("testw %2, %1" : "=@ccnz"(any) : "m"(*word), "r"(bits));
	return any;
}

/* The program counter is after a breakpoint instruction (int3) when the signal arrives. */
#define CP_BREAKPOINT_HAPPENS_AGAIN false

/* Registers by DWARF number (System V ABI, figure 3.36). */
#define CP_REG_FP 6
#define CP_REG_SP 7
#define CP_REG_PC 16
#define CP_REGS 17

struct cp_regs {
	uint64_t r[CP_REGS];
};

static const uint8_t cp_regs_in_context[CP_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
						     REG_RDI, REG_RBP, REG_RSP, REG_R8,	 REG_R9,
						     REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
						     REG_R15, REG_RIP };

/* Copies the interrupted registers out of UC, the third argument of a signal handler. */
static inline void cp_regs_of_context(struct cp_regs *regs, const ucontext_t *uc)
{
	for (unsigned i = 0; i < CP_REGS; i++)
		regs->r[i] = (uint64_t)uc->uc_mcontext.gregs[cp_regs_in_context[i]];
}

static inline void cp_regs_to_context(ucontext_t *uc, const struct cp_regs *regs)
{
	for (unsigned i = 0; i < CP_REGS; i++)
		uc->uc_mcontext.gregs[cp_regs_in_context[i]] = (greg_t)regs->r[i];
}

/* Stores the callee-saved registers, sp and pc of the function that this function is inlined into.
 * A walk can start from these registers while that function waits for a callee. */
__attribute__((always_inline)) static inline void cp_regs_here(struct cp_regs *regs)
{
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\t"
			 "leaq 0(%%rip), %%rax\n\t"
			 "movq %%rax, 128(%0)"
			 :
			 : "r"(regs->r)
			 : "rax", "memory");
}

/* The call of the function that cp_call_here is inlined into: its return address, and the caller's
 * sp and fp at that address. */
struct cp_call {
	uint64_t pc, sp, fp;
};

__attribute__((always_inline)) static inline struct cp_call cp_call_here(void)
{
	/* This builtin makes the function keep rbp in its frame, below its return address. */
	const uint64_t *frame = __builtin_frame_address(0);

	return (struct cp_call){ (uint64_t)__builtin_return_address(0), (uint64_t)(frame + 2),
				 frame[0] };
}

/* Returns whether the calling thread has libc's TLS. A thread of another runtime may have TLS of
 * its own, or none: read nothing in TLS before this is known. */
static inline int cp_tls_is_libc(void)
{
	uint64_t base = 0;

	cp_syscall6(158 /* arch_prctl */, 0x1003 /* ARCH_GET_FS */, (long)&base, 0, 0, 0, 0);
	/* libc's TLS descriptor begins with a pointer to itself; glibc's has another one. */
	return base && ((uint64_t *)base)[0] == base && ((uint64_t *)base)[CP_LIBC_SELF] == base;
}

/* Runs fn(arg) with the stack pointer at TOP, aligned down to 16 bytes, then returns on the
 * caller's stack. rbx keeps the old stack pointer; rbx is callee-saved, so fn restores it. The
 * stack ends here for unwinders, because they would look for the caller above TOP (a sanitizer
 * unwinds in its memcpy). */
static inline void cp_call_on_stack(void (*fn)(void *), void *arg, void *top)
{
	uintptr_t sp = (uintptr_t)top & ~(uintptr_t)15;

	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[sp], %%rsp\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined rip\n\t"
			 "callq *%[fn]\n\t"
			 ".cfi_restore_state\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(arg), [fn] "+a"(fn), [sp] "+d"(sp)
			 :
			 : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			   "r15", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
			   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
			   "xmm14", "xmm15");
}

/* Returns the calling thread's thread pointer. libc's descriptor is there; TLS variables are
 * below. */
static inline char *cp_thread_pointer(void)
{
	char *tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

/* Initializes TP, in zeroed memory, as the thread pointer of a task that has no libc thread. FROM
 * is its creator's thread pointer, DTV its table of modules' TLS. Sets the fields that the
 * profiler's and libc's code reads: that table, the pointers to itself, the flag for several
 * threads, the secrets of the stack protector and of jump buffers, and whether there is a shadow
 * stack. */
static inline void cp_thread_pointer_fill(char *tp, const char *from, const void *dtv)
{
	((void **)tp)[0] = tp;
	((const void **)tp)[1] = dtv;
	((void **)tp)[2] = tp;
	CP_LIBC_MARK_THREADS(tp);
	for (unsigned i = CP_LIBC_COPIED_FIRST; i <= CP_LIBC_COPIED_LAST; i++)
		((uint64_t *)tp)[i] = ((const uint64_t *)from)[i];
}

/* Defines the function NAME of the program's view. It calls BEFORE, and ends with a jump to the
 * function that BEFORE returned: NAME may return twice, so it can't have a frame. */
#define CP_JUMP_FUNCTION(name, before)                                                             \
	__asm__(".text\n\t"                                                                        \
		".globl " #name "\n\t"                                                             \
		".type " #name ", @function\n" #name ":\n\t"                                       \
		".cfi_startproc\n\t"                                                               \
		"endbr64\n\t"                                                                      \
		"subq $8, %rsp\n\t"                                                                \
		".cfi_adjust_cfa_offset 8\n\t"                                                     \
		"call " #before "\n\t"                                                             \
		"addq $8, %rsp\n\t"                                                                \
		".cfi_adjust_cfa_offset -8\n\t"                                                    \
		"jmp *%rax\n\t"                                                                    \
		".cfi_endproc\n\t"                                                                 \
		".size " #name ", . - " #name)

/* clone(2) with FLAGS. The child runs fn(arg) on the stack that ends at TOP, and exits with status
 * 0 when fn returns. Returns the child's id, or a negative errno. TID is used for
 * CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID, TLS for CLONE_SETTLS. */
static inline long cp_clone(unsigned long flags, void *top, void (*fn)(void *), void *arg,
			    uint32_t *tid, void *tls)
{
	void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15);
	long ret;
	register long r10 __asm__("r10") = (long)tid;
	register long r8 __asm__("r8") = (long)tls;

	*--sp = arg;
	*--sp = (void *)(uintptr_t)fn;
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "popq %%rax\n\t"
			 "popq %%rdi\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined rip\n\t" /* as in cp_call_on_stack */
			 "callq *%%rax\n\t"
			 "xorl %%edi, %%edi\n\t"
			 "movl $60, %%eax\n\t" /* exit */
			 "syscall\n\t"
			 "hlt\n\t"
			 ".cfi_restore_state\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(56L /* clone */), "D"(flags), "S"(sp), "d"(tid), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory", "cc");
	return ret;
}

/* Returns the number of the system call that UC would make next, and its second argument in
 * *SECOND. Both are meaningful only if UC is at a system call. */
static inline long cp_context_call(const ucontext_t *uc, uint64_t *second)
{
	*second = (uint64_t)uc->uc_mcontext.gregs[REG_RSI];
	return (long)uc->uc_mcontext.gregs[REG_RAX];
}

/* Returns whether UC is at a system call that was already entered. The syscall instruction stores
 * the address after itself in rcx, and the kernel has set rip back by the length of the
 * instruction. Processors with FRED don't store it; the result is then false. */
static inline bool cp_context_was_in_call(const ucontext_t *uc)
{
	return uc->uc_mcontext.gregs[REG_RCX] == uc->uc_mcontext.gregs[REG_RIP] + 2;
}

static inline void cp_context_end_call(ucontext_t *uc, long result)
{
	uc->uc_mcontext.gregs[REG_RAX] = result;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

/* The frame that the kernel writes for a signal handler, from its lowest address: the return
 * address, the context, the siginfo, and, aligned to 64 bytes, the floating-point registers.
 * The functions below take the address of the context, which names the frame. */
#define CP_FRAME_CONTEXT 8	       /* offset of the context */
#define CP_FRAME_INFO (8 + 304)	       /* offset of the siginfo */
#define CP_FRAME_FIXED (8 + 304 + 128) /* size up to the floating-point registers */
/* The kernel leaves this much below the interrupted stack pointer. */
#define CP_FRAME_RED_ZONE 128
/* The kernel writes no frame that an alternate stack has no room for. */
#define CP_FRAME_MUST_FIT true

static inline uintptr_t cp_frame_low(const ucontext_t *uc)
{
	return (uintptr_t)uc - CP_FRAME_CONTEXT;
}

/* Returns the size of the floating-point registers in the frame of UC. */
static inline size_t cp_frame_float_size(const ucontext_t *uc)
{
	/* The end of the 512 bytes that every processor has tells whether there is more: a magic
	 * number, then the whole size. */
	const uint32_t *told = (const uint32_t *)((const char *)uc->uc_mcontext.fpregs + 464);

	if (!uc->uc_mcontext.fpregs)
		return 0;
	return told[0] == 0x46505853u ? told[1] : 512;
}

/* Returns the lowest address of a frame like UC's, if the kernel writes it below SP. */
static inline uintptr_t cp_frame_below(const ucontext_t *uc, uintptr_t sp)
{
	uintptr_t fp = (sp - cp_frame_float_size(uc)) & -(uintptr_t)64;

	return ((fp - CP_FRAME_FIXED) & -(uintptr_t)16) - 8;
}

static inline uintptr_t cp_frame_high(const ucontext_t *uc)
{
	return uc->uc_mcontext.fpregs ? (uintptr_t)uc->uc_mcontext.fpregs + cp_frame_float_size(uc)
				      : cp_frame_low(uc) + CP_FRAME_FIXED;
}

/* Copies UC's frame below SP, where its lowest address is LOW. The memory must be writable. */
static inline void cp_frame_copy(const ucontext_t *uc, uintptr_t low, uintptr_t sp)
{
	ucontext_t *copy = (ucontext_t *)(low + CP_FRAME_CONTEXT);
	uintptr_t fp = (sp - cp_frame_float_size(uc)) & -(uintptr_t)64;

	__builtin_memcpy((void *)low, (const void *)cp_frame_low(uc), CP_FRAME_FIXED);
	if (!uc->uc_mcontext.fpregs)
		return;
	__builtin_memcpy((void *)fp, uc->uc_mcontext.fpregs, cp_frame_float_size(uc));
	copy->uc_mcontext.fpregs = (fpregset_t)fp;
}

/* Changes UC, whose frame was copied to LOW: the return to UC calls HANDLER for SIG, as the kernel
 * calls it with a frame at LOW. RESTORER is in the frame already. */
static inline void cp_context_enter(ucontext_t *uc, uintptr_t handler, int sig, uintptr_t low,
				    const void *restorer)
{
	greg_t *r = uc->uc_mcontext.gregs;

	r[REG_RIP] = (greg_t)handler;
	r[REG_RSP] = (greg_t)low;
	r[REG_RDI] = sig;
	r[REG_RSI] = (greg_t)(low + CP_FRAME_INFO);
	r[REG_RDX] = (greg_t)(low + CP_FRAME_CONTEXT);
	r[REG_RAX] = 0;
	r[REG_EFL] &= ~(greg_t)(0x400 | 0x100 | 0x10000); /* direction, trap and resume flags */
	/* A handler begins with initial floating-point registers. */
	uc->uc_mcontext.fpregs = NULL;
}

/* Returns whether the processor checks return addresses against a shadow stack. */
static inline bool cp_arch_has_shadow_stack(void)
{
	uint64_t ssp = 0;

	/* rdsspq %rax; does nothing without a shadow stack. */
	__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(ssp));
	return ssp != 0;
}

#endif
