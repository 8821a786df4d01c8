/* x86_64: what differs between architectures in the event plane.
 * Everything here is async-signal-safe and touches neither errno nor TLS.
 */
#ifndef CP_ARCH_X86_64_H
#define CP_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#ifdef __clang_analyzer__
/* It doesn't know that the kernel writes to what is pointed to. */
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

/* A counter of constant rate, read without the kernel. */
static inline uint64_t cp_ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Before a look at what is written right after it: where other processors write it, too, its line
 * is asked for once, and not shared first and then to be written. Any address. */
static inline void cp_write_soon(const void *p)
{
	/* Not __builtin_prefetch, which without -mprfchw doesn't say that it is to be written.
	 * Processors that don't have it take it for no operation. */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
}

/* Subtract BY from *N. true: *N was not more than that, and is of no use now. */
static inline __attribute__((always_inline)) bool cp_sub_uses_up(uint64_t *n, uint64_t by)
{
	bool up;

	/* Compilers ask the two things that one jump tells apart. */
	__asm__("subq %2, %0" : "+r"(*n), "=@ccbe"(up) : "r"(by));
	return up;
}

/* Is one of BITS set in *WORD, which others may change meanwhile? */
static inline __attribute__((always_inline)) bool cp_has_any_bit(const uint16_t *word,
								 uint16_t bits)
{
	bool any;

	/* One instruction, where a relaxed load is one by itself. Volatile: it is read every time.
	 */
	__asm__ volatile("testw %2, %1" : "=@ccnz"(any) : "m"(*word), "r"(bits));
	return any;
}

/* Registers by their DWARF number (System V ABI, figure 3.36). */
#define CP_REG_FP 6
#define CP_REG_SP 7
#define CP_REG_PC 16
#define CP_REGS 17

struct cp_regs {
	uint64_t r[CP_REGS];
};

/* The interrupted registers of a signal handler's third argument. */
static inline void cp_regs_of_context(struct cp_regs *regs, const ucontext_t *uc)
{
	static const uint8_t greg[CP_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (unsigned i = 0; i < CP_REGS; i++)
		regs->r[i] = (uint64_t)uc->uc_mcontext.gregs[greg[i]];
}

/* Those of the function that this is inlined into, here: what it must keep for its caller, and
 * where it is. For a walk that begins while that function waits for what it calls. */
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

/* The call that the function was made by that this is inlined into: where it returns to, and the
 * caller's registers there. */
struct cp_call {
	uint64_t pc, sp, fp;
};

__attribute__((always_inline)) static inline struct cp_call cp_call_here(void)
{
	/* Asking for it makes that function keep rbp there, below its return address. */
	const uint64_t *frame = __builtin_frame_address(0);

	return (struct cp_call){ (uint64_t)__builtin_return_address(0), (uint64_t)(frame + 2),
				 frame[0] };
}

/* Is the calling thread's TLS libc's? Another runtime's thread may have one of its own, or none:
 * nothing may be read in it before this is known. */
static inline int cp_tls_is_libc(void)
{
	uint64_t base = 0;

	cp_syscall6(158 /* arch_prctl */, 0x1003 /* ARCH_GET_FS */, (long)&base, 0, 0, 0, 0);
	/* libc's begins with two pointers to itself, at 0 and 16. */
	return base && ((uint64_t *)base)[0] == base && ((uint64_t *)base)[2] == base;
}

/* Run fn(arg) with the stack pointer at TOP (16-byte aligned by us), then
 * return on the caller's stack. rbx keeps the old stack pointer: it is
 * callee-saved, so fn gives it back. */
static inline void cp_call_on_stack(void (*fn)(void *), void *arg, void *top)
{
	uintptr_t sp = (uintptr_t)top & ~(uintptr_t)15;

	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[sp], %%rsp\n\t"
			 "callq *%[fn]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(arg), [fn] "+a"(fn), [sp] "+d"(sp)
			 :
			 : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			   "r15", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
			   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
			   "xmm14", "xmm15");
}

/* Where the calling thread's TLS is: libc's descriptor, variables below it. */
static inline char *cp_thread_pointer(void)
{
	char *tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

/* Make TP, in zeroed memory, the thread pointer of a task that has no thread of libc's. FROM is its
 * maker's. What code of ours and of libc's reads there: pointers to itself, that there are several
 * threads, the stack protector's and the jump buffers' secrets, whether there is a shadow stack. */
static inline void cp_thread_pointer_fill(char *tp, const char *from)
{
	((void **)tp)[0] = tp;
	((void **)tp)[2] = tp;
	((uint32_t *)tp)[6] = 1;
	for (unsigned i = 5; i < 10; i++)
		((uint64_t *)tp)[i] = ((const uint64_t *)from)[i];
}

/* clone(2) with FLAGS; the child runs fn(arg) on the stack that ends at TOP, and exits with 0 when
 * that returns. The child's id, or a negative errno. *TID is for CLONE_PARENT_SETTID and
 * CLONE_CHILD_CLEARTID, TLS for CLONE_SETTLS. */
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
			 "callq *%%rax\n\t"
			 "xorl %%edi, %%edi\n\t"
			 "movl $60, %%eax\n\t" /* exit */
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(56L /* clone */), "D"(flags), "S"(sp), "d"(tid), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory", "cc");
	return ret;
}

/* The system call that UC would make next, and its second argument; if it is at one at all. */
static inline long cp_context_call(const ucontext_t *uc, uint64_t *second)
{
	*second = (uint64_t)uc->uc_mcontext.gregs[REG_RSI];
	return (long)uc->uc_mcontext.gregs[REG_RAX];
}

/* UC is at a system call, and was in it already: the instruction leaves its end in rcx (where the
 * processor has FRED it doesn't: false then), which is where the kernel has set back from. */
static inline bool cp_context_was_in_call(const ucontext_t *uc)
{
	return uc->uc_mcontext.gregs[REG_RCX] == uc->uc_mcontext.gregs[REG_RIP] + 2;
}

static inline void cp_context_end_call(ucontext_t *uc, long result)
{
	uc->uc_mcontext.gregs[REG_RAX] = result;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

#endif
