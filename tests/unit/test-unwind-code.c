/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk by call frame information through a JIT's code, which has none, and through code whose
 * says what isn't so. The innermost functions without any: test-unwind-undescribed.c.
 */
#include "generated-code.h"
#define OWN_MAIN
#include "unwind-chains.h"

#if defined(__x86_64__)
#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "unwind/signal/unwind_signal.h"
#include "sample/sample.h"

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

TEST(test_generated_code_is_crossed_by_its_frame_pointer)
{
	uint8_t *code = generated_map();
	unsigned at;

	if (!code)
		SKIP("no executable memory");
	chains_begin();
	call_generated(code);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	at = piece_at(1, notes);
	CHECK_EQ(at, 1);
	CHECK_EQ(walked.pcs[3], generated_return(code, 0) - 1);
	CHECK_EQ(walked.pcs[5], noted[0] - 1);
	generated_unmap(code);
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

TEST(test_undescribed_code_that_generated_code_called)
{
	uint8_t *code = generated_map();

	if (!code)
		SKIP("no executable memory");
	chains_begin();
	call_helper(code);
	CHECK_EQ(walked.end, CP_UNWIND_COMPLETE);
	CHECK_EQ(piece_at(1, notes), 1);
	CHECK(walked.pcs[3] - (uint64_t)undescribed < 32);
	CHECK_EQ(walked.pcs[4], generated_return(code, 0) - 1);
	CHECK_EQ(walked.pcs[6], noted[0] - 1);
	generated_unmap(code);
}

/* As interrupted in generated code just after push %rbp, and at the entry of a helper that it
 * called: the frame pointer is still the caller's. */
TEST(test_generated_code_at_its_entry)
{
	uint8_t *code = generated_map();
	uint64_t stack[8] = { 0 };
	struct cp_unwind_input at = { .stable_modules = true, .own_tls = true };
	enum cp_unwind_end end;

	if (!code)
		SKIP("no executable memory");
	stack[0] = (uint64_t)&stack[4];
	stack[1] = generated_return(code, 0); /* into the caller */
	stack[4] = 0;
	stack[5] = generated_return(code, 1); /* into the caller's caller */
	at.stack_low = (uint64_t)stack;
	at.stack_high = (uint64_t)(stack + 8);
	at.regs.r[CP_REG_FP] = (uint64_t)&stack[4];
	at.regs.r[CP_REG_SP] = (uint64_t)stack;
	at.regs.r[CP_REG_PC] = (uint64_t)code + 1;
	CHECK(unwinder->walk(&at, walked.pcs, 8, &end) >= 3);
	CHECK_EQ(walked.pcs[1], generated_return(code, 0) - 1);
	CHECK_EQ(walked.pcs[2], generated_return(code, 1) - 1);
	at.regs.r[CP_REG_SP] = (uint64_t)&stack[1];
	at.regs.r[CP_REG_PC] = (uint64_t)undescribed;
	CHECK(unwinder->walk(&at, walked.pcs, 8, &end) >= 3);
	CHECK_EQ(walked.pcs[1], generated_return(code, 0) - 1);
	CHECK_EQ(walked.pcs[2], generated_return(code, 1) - 1);
	generated_unmap(code);
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

TEST(test_a_description_that_ends_early)
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

TEST(test_a_frame_that_is_freed_early)
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

TEST(test_jump_to_null_shows_its_caller)
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

static uint32_t comes_and_goes;

static void *come_and_go(void *code)
{
	uint8_t *page = (uint8_t *)code - GENERATED_OFFSET;

	while (cp_load_relaxed(&comes_and_goes)) {
		mprotect(page, GENERATED_PAGE, PROT_NONE);
		mprotect(page, GENERATED_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	}
	return NULL;
}

static int look_at(uint8_t *code)
{
	uint8_t call[CP_CFI_CALL_BYTES];
	uint64_t from = generated_return(code, 0) - sizeof(call);
	unsigned seen[2] = { 0, 0 };
	pthread_t other;

	cp_store_relaxed(&comes_and_goes, 1);
	if (pthread_create(&other, NULL, come_and_go, code))
		return 2;
	for (int i = 0; i < 10000000 && (i < 200000 || !seen[0] || !seen[1]); i++)
		seen[cp_cfi_code_read(from, call, sizeof(call), false)]++;
	cp_store_relaxed(&comes_and_goes, 0);
	pthread_join(other, NULL);
	return seen[0] && seen[1] ? 0 : 1;
}

static void forbid(uint8_t *code, bool forbidden)
{
	mprotect(code - GENERATED_OFFSET, GENERATED_PAGE,
		 forbidden ? PROT_NONE : PROT_READ | PROT_EXEC);
}

/* Without a system call for each frame of each sample. */
TEST(test_generated_code_is_known_for_a_moment)
{
	uint8_t *code = generated_map();
	uint64_t ra, moment;
	bool known, gone;

	if (!code)
		SKIP("no executable memory");
	ra = generated_return(code, 0);
	/* Until it is seen twice in one. */
	do {
		moment = cp_ticks() >> CP_CFI_MOMENT;
		CHECK(cp_cfi_code_behind_call(ra, false));
		forbid(code, true);
		known = cp_cfi_code_behind_call(ra, false) && cp_cfi_code_is_there(ra, false) &&
			!cp_cfi_code_at_sigreturn(ra, false);
		forbid(code, false);
	} while (cp_ticks() >> CP_CFI_MOMENT != moment);
	CHECK(known);
	forbid(code, true);
	moment = cp_ticks() >> CP_CFI_MOMENT;
	while (cp_ticks() >> CP_CFI_MOMENT == moment)
		;
	gone = !cp_cfi_code_behind_call(ra, false) && !cp_cfi_code_is_there(ra, false);
	forbid(code, false);
	CHECK(gone);
	/* Memory that was missing is asked for again. */
	CHECK(cp_cfi_code_behind_call(ra, false));
	generated_unmap(code);
}

/* Another thread's, which a stack leads to that has changed while it was walked. */
TEST(test_memory_that_goes_while_it_is_looked_at)
{
	uint8_t *code = generated_map();
	int status = -1;
	pid_t pid;

	if (!code)
		SKIP("no executable memory");
	pid = fork();
	if (!pid)
		_exit(look_at(code));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	generated_unmap(code);
}

int main(void)
{
	unwinder = &cp_unwinder_dwarf;
	CHECK_EQ(unwinder->prepare(), 0);
	harness_all();
	return harness_end();
}

#else

int main(void)
{
	printf("1..0 # SKIP its machine code is x86_64's\n");
	return 77;
}

#endif
