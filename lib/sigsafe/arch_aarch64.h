/* aarch64: what differs between architectures in the event plane.
 * Everything here is async-signal-safe and touches neither errno nor TLS.
 */
#ifndef CP_ARCH_AARCH64_H
#define CP_ARCH_AARCH64_H

#include <stdbool.h>
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

/* A counter of constant rate, read without the kernel. */
static inline uint64_t cp_ticks(void)
{
	uint64_t ticks;

	/* Or it would be read before what stands before it is done. */
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
	return ticks;
}

/* Before a look at what is written right after it: where other processors write it, too, its line
 * is asked for once, and not shared first and then to be written. Any address. */
static inline void cp_write_soon(const void *p)
{
	__builtin_prefetch(p, 1);
}

/* Subtract BY from *N. true: *N was not more than that, and is of no use now. */
static inline __attribute__((always_inline)) bool cp_sub_uses_up(uint64_t *n, uint64_t by)
{
	uint64_t before = *n;

	*n = before - by;
	return before <= by;
}

/* Is one of BITS set in *WORD, which others may change meanwhile? */
static inline __attribute__((always_inline)) bool cp_has_any_bit(const uint16_t *word,
								 uint16_t bits)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) & bits;
}

/* Registers by their DWARF number; the pc has none there and follows sp. */
#define CP_REG_FP 29
#define CP_REG_SP 31
#define CP_REG_PC 32
#define CP_REGS 33

struct cp_regs {
	uint64_t r[CP_REGS];
};

/* The interrupted registers of a signal handler's third argument. */
static inline void cp_regs_of_context(struct cp_regs *regs, const ucontext_t *uc)
{
	for (unsigned i = 0; i < 31; i++)
		regs->r[i] = uc->uc_mcontext.regs[i];
	regs->r[CP_REG_SP] = uc->uc_mcontext.sp;
	regs->r[CP_REG_PC] = uc->uc_mcontext.pc;
}

/* Those of the function that this is inlined into, here: what it must keep for its caller, and
 * where it is. For a walk that begins while that function waits for what it calls. */
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

/* The call that the function was made by that this is inlined into: where it returns to, and the
 * caller's registers there. */
struct cp_call {
	uint64_t pc, sp, fp;
};

__attribute__((always_inline)) static inline struct cp_call cp_call_here(void)
{
	const uint64_t *frame = __builtin_frame_address(0);

	/* Where the caller's stack begins isn't known; nobody asks (see rules_aarch64.h). */
	return (struct cp_call){ (uint64_t)__builtin_return_address(0), 0, frame[0] };
}

/* Is the calling thread's TLS libc's? Another runtime's thread may have none. */
static inline int cp_tls_is_libc(void)
{
	uint64_t base;

	__asm__("mrs %0, tpidr_el0" : "=r"(base));
	return base != 0;
}

/* Run fn(arg) with the stack pointer at TOP (16-byte aligned by us), then
 * return on the caller's stack. x19 keeps the old stack pointer. */
static inline void cp_call_on_stack(void (*fn)(void *), void *arg, void *top)
{
	register void *x0 __asm__("x0") = arg;
	register void (*x1)(void *) __asm__("x1") = fn;
	register uintptr_t x2 __asm__("x2") = (uintptr_t)top & ~(uintptr_t)15;

	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, x2\n\t"
			 "blr x1\n\t"
			 "mov sp, x19"
			 : "+r"(x0), "+r"(x1), "+r"(x2)
			 :
			 : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
			   "x14", "x15", "x16", "x17", "x19", "x30", "memory", "cc", "v0", "v1",
			   "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20",
			   "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
			   "v31");
}

/* Where the calling thread's TLS is: two words of libc's, its descriptor below, variables above. */
static inline char *cp_thread_pointer(void)
{
	char *tp;

	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

/* Make TP, in zeroed memory, the thread pointer of a task that has no thread of libc's: secrets are
 * no part of it here. */
static inline void cp_thread_pointer_fill(char *tp, const char *from)
{
	(void)tp;
	(void)from;
}

/* clone(2) with FLAGS; the child runs fn(arg) on the stack that ends at TOP, and exits with 0 when
 * that returns. The child's id, or a negative errno. *TID is for CLONE_PARENT_SETTID and
 * CLONE_CHILD_CLEARTID, TLS for CLONE_SETTLS. */
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
			 "blr x1\n\t"
			 "mov x0, xzr\n\t"
			 "mov x8, #93\n\t" /* exit */
			 "svc #0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory", "cc");
	return x0;
}

/* The system call that UC would make next, and its second argument; if it is at one at all. */
static inline long cp_context_call(const ucontext_t *uc, uint64_t *second)
{
	*second = uc->uc_mcontext.regs[1];
	return (long)uc->uc_mcontext.regs[8];
}

/* UC is at a system call, and may have been in it already. What it executes next can be read, or it
 * would not be there: from a mapping that can only be executed, through the kernel. */
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

#endif
