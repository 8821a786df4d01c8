/* SPDX-License-Identifier: BSD-3-Clause */
/* aarch64: the architecture-dependent code of the event plane. Every function here is
 * async-signal-safe and touches neither errno nor TLS. */
#ifndef CP_ARCH_AARCH64_H
#define CP_ARCH_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

static inline long cp_syscall6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

/* Returns the size of the user address space, rounded up to a power of two. Kernels are built for
 * address widths of 36 to 52 bits. SOMEWHERE is a mapped address and gives the width, because
 * mappings lie near the end of the address space. Where the stack has no limit, mappings begin at
 * a quarter of the address space; that result serves as well. */
static inline uintptr_t cp_arch_user_space(const void *somewhere)
{
	return (uintptr_t)1 << (64 - __builtin_clzl((uintptr_t)somewhere));
}

/* Returns ADDRESS without a memory tag or whatever else the program keeps in the top byte, which
 * the processor ignores. Tables of mappings and pages have addresses without it. */
static inline __attribute__((always_inline)) uint64_t cp_arch_untag(uint64_t address)
{
	return address & (UINT64_MAX >> 8);
}

/* The largest page that a kernel may have been built for. */
#define CP_ARCH_PAGE_MAX ((uintptr_t)65536)

/* Returns a counter of constant rate, read without a system call. Only sample.h calls this
 * function, because sample.h knows whether the program allows the read. */
static inline __attribute__((always_inline)) uint64_t cp_arch_ticks(void)
{
	uint64_t ticks;

	/* Without isb, the processor may read the counter before earlier instructions are done. */
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
	return ticks;
}

/* Prefetches the cache line of P for writing. Call before reading a word that is written right
 * afterwards and that other processors write, too. Otherwise the processor requests the line
 * twice: first shared, then for writing. P may be any address. */
static inline void cp_write_soon(const void *p)
{
	__builtin_prefetch(p, 1);
}

/* Reads the object at P, which the program's next call changes by an atomic instruction, so that a
 * bad address faults here as there: such an instruction wants P aligned. */
static inline void cp_touch_atomic(const void *p)
{
	uint64_t value;

	__asm__ volatile("ldar %0, [%1]" : "=r"(value) : "r"(p) : "memory");
}

/* Subtracts BY from *N. Returns true if *N was not more than BY; the new value of *N is then
 * meaningless. */
static inline __attribute__((always_inline)) bool cp_sub_uses_up(uint64_t *n, uint64_t by)
{
	uint64_t before = *n;

	*n = before - by;
	return before <= by;
}

/* Returns whether one of BITS is set in *WORD. Other threads may change *WORD meanwhile. */
static inline __attribute__((always_inline)) bool cp_has_any_bit(const uint16_t *word,
								 uint16_t bits)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) & bits;
}

/* The program counter stays at a breakpoint instruction (brk). glibc's abort ends in one. */
#define CP_BREAKPOINT_HAPPENS_AGAIN true

/* Registers by DWARF number. The pc has no DWARF number here and follows sp. */
#define CP_REG_FP 29
#define CP_REG_SP 31
#define CP_REG_PC 32
#define CP_REGS 33

struct cp_regs {
	uint64_t r[CP_REGS];
};

/* Copies the interrupted registers out of UC, the third argument of a signal handler. */
static inline void cp_regs_of_context(struct cp_regs *regs, const ucontext_t *uc)
{
	for (unsigned i = 0; i < 31; i++)
		regs->r[i] = uc->uc_mcontext.regs[i];
	regs->r[CP_REG_SP] = uc->uc_mcontext.sp;
	regs->r[CP_REG_PC] = uc->uc_mcontext.pc;
}

/* Stores the callee-saved registers, sp and pc of the function that this function is inlined into.
 * A walk can start from these registers while that function waits for a callee. */
__attribute__((always_inline)) static inline void cp_regs_here(struct cp_regs *regs)
{
	__asm__ volatile("stp x19, x20, [%0, #152]\n\t"
			 "stp x21, x22, [%0, #168]\n\t"
			 "stp x23, x24, [%0, #184]\n\t"
			 "stp x25, x26, [%0, #200]\n\t"
			 "stp x27, x28, [%0, #216]\n\t"
			 "stp x29, x30, [%0, #232]\n\t"
			 "mov x9, sp\n\t"
			 "adr x10, .\n\t"
			 "stp x9, x10, [%0, #248]"
			 :
			 : "r"(regs->r)
			 : "x9", "x10", "memory");
}

/* The call of the function that cp_call_here is inlined into: its return address, and the caller's
 * sp and fp at that address. */
struct cp_call {
	uint64_t pc, sp, fp;
};

__attribute__((always_inline)) static inline struct cp_call cp_call_here(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
#ifdef __clang__ /* whose __builtin_dwarf_cfa is the frame pointer here */
	uint64_t sp = (uint64_t)__builtin_sponentry();
#else
	uint64_t sp = (uint64_t)__builtin_dwarf_cfa();
#endif

	return (struct cp_call){ (uint64_t)__builtin_return_address(0), sp, frame[0] };
}

/* Returns whether the calling thread has libc's TLS. A thread of another runtime may have no
 * TLS. */
static inline int cp_tls_is_libc(void)
{
	uint64_t base;

	__asm__("mrs %0, tpidr_el0" : "=r"(base));
	return base != 0;
}

/* Runs fn(arg) with the stack pointer at TOP, aligned down to 16 bytes, then returns on the
 * caller's stack. x19 keeps the old stack pointer. A function keeps the lower halves of v8 to v15
 * only, and may use x18. */
static inline void cp_call_on_stack(void (*fn)(void *), void *arg, void *top)
{
	register void *x0 __asm__("x0") = arg;
	register void (*x1)(void *) __asm__("x1") = fn;
	register uintptr_t x2 __asm__("x2") = (uintptr_t)top & ~(uintptr_t)15;

	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, x2\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined x30\n\t"
			 "blr x1\n\t"
			 ".cfi_restore_state\n\t"
			 "mov sp, x19"
			 : "+r"(x0), "+r"(x1), "+r"(x2)
			 :
			 : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
			   "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory", "cc", "v0",
			   "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
			   "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
			   "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

/* Returns the calling thread's thread pointer. It points to two words that belong to libc; libc's
 * thread descriptor is below, TLS variables are above. */
static inline char *cp_thread_pointer(void)
{
	char *tp;

	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

/* Initializes TP, in zeroed memory, as the thread pointer of a task that has no libc thread. DTV is
 * its table of modules' TLS. libc keeps no secrets there on aarch64. */
static inline void cp_thread_pointer_fill(char *tp, const char *from, const void *dtv)
{
	((const void **)tp)[0] = dtv;
}

/* Defines the function NAME of the program's view. It calls BEFORE, and ends with a jump to the
 * function that BEFORE returned: NAME may return twice, so it can't have a frame. */
#define CP_JUMP_FUNCTION(name, before)                                                             \
	__asm__(".text\n\t"                                                                        \
		".globl " #name "\n\t"                                                             \
		".type " #name ", %function\n" #name ":\n\t"                                       \
		".cfi_startproc\n\t"                                                               \
		"hint #34\n\t" /* bti c */                                                         \
		"stp x29, x30, [sp, #-16]!\n\t"                                                    \
		".cfi_def_cfa_offset 16\n\t"                                                       \
		".cfi_offset x29, -16\n\t"                                                         \
		".cfi_offset x30, -8\n\t"                                                          \
		"bl " #before "\n\t"                                                               \
		"mov x16, x0\n\t"                                                                  \
		"ldp x29, x30, [sp], #16\n\t"                                                      \
		".cfi_restore x29\n\t"                                                             \
		".cfi_restore x30\n\t"                                                             \
		".cfi_def_cfa_offset 0\n\t"                                                        \
		"br x16\n\t"                                                                       \
		".cfi_endproc\n\t"                                                                 \
		".size " #name ", . - " #name)

/* clone(2) with FLAGS. The child runs fn(arg) on the stack that ends at TOP, and exits with status
 * 0 when fn returns. Returns the child's id, or a negative errno. TID is used for
 * CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID, TLS for CLONE_SETTLS. */
static inline long cp_clone(unsigned long flags, void *top, void (*fn)(void *), void *arg,
			    uint32_t *tid, void *tls)
{
	void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15);
	register long x8 __asm__("x8") = 220; /* clone */
	register long x0 __asm__("x0") = (long)flags;
	register long x1 __asm__("x1") = (long)(sp - 2);
	register long x2 __asm__("x2") = (long)tid;
	register long x3 __asm__("x3") = (long)tls;
	register long x4 __asm__("x4") = (long)tid;

	*--sp = arg;
	*--sp = (void *)(uintptr_t)fn;
	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "ldp x1, x0, [sp], #16\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined x30\n\t" /* as in cp_call_on_stack */
			 "blr x1\n\t"
			 "mov x0, xzr\n\t"
			 "mov x8, #93\n\t" /* exit */
			 "svc #0\n\t"
			 ".cfi_restore_state\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory", "cc");
	return x0;
}

/* Returns the number of the system call that UC would make next, and its second argument in
 * *SECOND. Both are meaningful only if UC is at a system call. */
static inline long cp_context_call(const ucontext_t *uc, uint64_t *second)
{
	*second = uc->uc_mcontext.regs[1];
	return (long)uc->uc_mcontext.regs[8];
}

/* Returns whether UC is at a system call instruction; the call may already have been entered. The
 * instruction is read through the kernel, because the mapping may be execute-only. */
static inline bool cp_context_was_in_call(const ucontext_t *uc)
{
	uint32_t next = 0;
	const uint64_t to[2] = { (uint64_t)(uintptr_t)&next, sizeof(next) };
	const uint64_t from[2] = { uc->uc_mcontext.pc, sizeof(next) };
	long pid = cp_syscall6(172 /* getpid */, 0, 0, 0, 0, 0, 0);

	return cp_syscall6(270 /* process_vm_readv */, pid, (long)to, 1, (long)from, 1, 0) ==
		       sizeof(next) &&
	       next == 0xd4000001; /* svc #0 */
}

static inline void cp_context_end_call(ucontext_t *uc, long result)
{
	uc->uc_mcontext.regs[0] = (uint64_t)result;
	uc->uc_mcontext.pc += 4;
}

/* The frame that the kernel writes for a signal handler, from its lowest address: the siginfo, the
 * context, records that don't fit in the context, and a frame record (the interrupted fp and pc).
 * The functions below take the address of the context, which names the frame. */
#define CP_FRAME_INFO 0	     /* offset of the siginfo */
#define CP_FRAME_CONTEXT 128 /* offset of the context */
#define CP_FRAME_RECORD 16   /* size of the frame record */
/* The kernel leaves this much below the interrupted stack pointer. */
#define CP_FRAME_RED_ZONE 0
/* The kernel writes the frame below an alternate stack that is too small, if it can. */
#define CP_FRAME_MUST_FIT false

/* The record in the context that describes records after the context. */
struct cp_frame_extra {
	uint32_t magic, size;
	uint64_t data;
	uint32_t data_size;
};
#define CP_FRAME_EXTRA 0x45585401u

static inline uintptr_t cp_frame_low(const ucontext_t *uc)
{
	return (uintptr_t)uc - CP_FRAME_CONTEXT;
}

/* Returns the record in UC, or NULL if all records are in the context. */
static inline struct cp_frame_extra *cp_frame_extra(const ucontext_t *uc)
{
	uintptr_t at = (uintptr_t)uc->uc_mcontext.__reserved;
	uintptr_t end = at + sizeof(uc->uc_mcontext.__reserved) - sizeof(struct cp_frame_extra);

	while (at <= end) {
		struct cp_frame_extra *e = (struct cp_frame_extra *)at;

		if (e->magic == CP_FRAME_EXTRA)
			return e;
		if (!e->magic || e->size < 8)
			break;
		at += e->size;
	}
	return NULL;
}

/* Returns the size of UC's frame without the frame record. */
static inline size_t cp_frame_size(const ucontext_t *uc)
{
	const struct cp_frame_extra *e = cp_frame_extra(uc);
	uintptr_t end = e ? e->data + e->data_size : (uintptr_t)(uc + 1);

	return (end - cp_frame_low(uc) + 15) & -(size_t)16;
}

/* Returns the lowest address of a frame like UC's, if the kernel writes it below SP. */
static inline uintptr_t cp_frame_below(const ucontext_t *uc, uintptr_t sp)
{
	return ((sp - CP_FRAME_RECORD) & -(uintptr_t)16) - cp_frame_size(uc);
}

static inline uintptr_t cp_frame_high(const ucontext_t *uc)
{
	return cp_frame_low(uc) + cp_frame_size(uc) + CP_FRAME_RECORD;
}

/* Copies UC's frame below SP, where its lowest address is LOW. The memory must be writable. */
static inline void cp_frame_copy(const ucontext_t *uc, uintptr_t low, uintptr_t sp)
{
	struct cp_frame_extra *e;

	__builtin_memcpy((void *)low, (const void *)cp_frame_low(uc),
			 cp_frame_high(uc) - cp_frame_low(uc));
	e = cp_frame_extra((const ucontext_t *)(low + CP_FRAME_CONTEXT));
	if (e)
		e->data += low - cp_frame_low(uc);
}

/* Changes UC, whose frame was copied to LOW: the return to UC calls HANDLER for SIG, as the kernel
 * calls it with a frame at LOW. RESTORER is where HANDLER returns to. */
static inline void cp_context_enter(ucontext_t *uc, uintptr_t handler, int sig, uintptr_t low,
				    const void *restorer)
{
	mcontext_t *m = &uc->uc_mcontext;

	m->pc = handler;
	m->sp = low;
	m->regs[0] = (uint64_t)sig;
	m->regs[1] = low + CP_FRAME_INFO;
	m->regs[2] = low + CP_FRAME_CONTEXT;
	m->regs[29] = low + cp_frame_size(uc);
	m->regs[30] = (uint64_t)(uintptr_t)restorer;
	/* The kind of the last branch, and that memory tags aren't checked. */
	m->pstate &= ~UINT64_C(0x2000c00);
}

/* Returns whether the processor checks return addresses against a shadow stack. */
static inline bool cp_arch_has_shadow_stack(void)
{
	register uint64_t asked __asm__("x16") = 1;

	/* chkfeat x16; does nothing on processors without it. */
	__asm__ volatile("hint #40" : "+r"(asked));
	return asked == 0;
}

#endif
