/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into the program that is stepped; see oracle.h.
 *
 * A program can't step itself on aarch64, so a tracer (a process that has the program's memory as
 * it was before main) steps it, and after each step lets it call oracle_on_step on a stack of its
 * own, with the stepped registers in shared memory. Where a signal's handler is entered, the tracer
 * stops at its first instruction, so handlers are stepped, too.
 *
 * From the environment: ORACLE_OUT, the report's file; ORACLE_STEPS, how many instructions to step;
 * ORACLE_WINDOW, how many at a time: then the program runs ORACLE_PAUSE milliseconds by itself, and
 * the frames at the next window's beginning are known from a walk only, and checked when they are
 * returned to. All steps are of the main thread.
 */
#include "oracle.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "unwind/signal/cfi_arch.h"
#include "unwind/signal/unwind_signal.h"

#define OWN_STACK (512 << 10)
/* Marks for the tracer: brk with these operands. */
#define BREAK(n) (0xd4200000u | (n) << 5)
#define MARK_BEGIN 0x4f01
#define MARK_END 0x4f02
#define MARK_STEPPED 0x4f03 /* in oracle_enter */
#define MARK_OF(n) __asm__ volatile("brk #%0" ::"i"(n) : "memory")

enum doing { BEGIN_WINDOW, STEP };

static struct shared {
	struct user_regs_struct regs;
	enum doing doing;
	bool enough;
} * shared;

static uint64_t last_pc, last_sp, window, pause_ms;
static char own_stack[OWN_STACK] __attribute__((aligned(64)));

void oracle_skip_returned(uint64_t pc)
{
}

static uint32_t insn_at(uint64_t pc)
{
	return *(const uint32_t *)pc;
}

/* ---- in the program, at its own speed ---- */

static bool is_call(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

/* ret, retaa, retab. */
static bool is_return(uint32_t insn)
{
	return (insn & 0xfffffc1f) == 0xd65f0000 || (insn & 0xfffffbff) == 0xd65f0bff;
}

/* br, braa and the like. */
static bool is_jump(uint32_t insn)
{
	return (insn & 0xfffffc1f) == 0xd61f0000 || (insn & 0xfefff800) == 0xd61f0800;
}

static uint64_t function_of(uint64_t pc)
{
	struct cp_cfi_module m;

	return cp_cfi_module_find(pc, &m) ? cp_cfi_table_start_before(&m, pc, false) : 0;
}

/* Bring the shadow stack up to date after the instruction INSN, which led to PC. A call leaves its
 * return address in a register, so a frame whose function has not moved the stack pointer is left
 * by a return to that address, or by a jump into the middle of another function (longjmp, an
 * exception's landing). */
static void follow(uint32_t insn, uint64_t pc, uint64_t sp)
{
	const struct oracle_call *top = oracle_shadow_call(0);
	/* Only the end of a signal's handler changes sp in a system call. */
	bool leaves_handler = !top && sp != last_sp && !is_return(insn) && !is_jump(insn);

	if (is_call(insn)) {
		oracle_shadow_push(
			&(struct oracle_call){ .slot = last_sp, .ra = last_pc + 4, .callee = pc });
		return;
	}
	if (!is_return(insn) && !is_jump(insn) && insn != 0xd4000001 /* svc: sigreturn */)
		return;
	oracle_shadow_pop(sp);
	top = oracle_shadow_call(0);
	if (leaves_handler || (!top && is_return(insn)))
		oracle_shadow_returned(pc);
	else if (top && top->slot == sp && !top->exact &&
		 (top->ra == pc || (is_jump(insn) && function_of(pc) != pc &&
				    function_of(pc) != function_of(last_pc))))
		oracle_shadow_pop(sp + 1);
	else if (top && top->slot == sp && top->exact && top->ra == pc)
		oracle_shadow_pop(sp + 1);
}

static bool is_plain_jump(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x14000000;
}

/* Has the kernel begun a signal's handler at PC? Its frame is at SP then, and x30 leads to the
 * trampoline. A handler that ends with a jump to another function looks the same there. */
static bool enters_handler(const struct user_regs_struct *r)
{
	uint32_t last = insn_at(last_pc);

	return cp_cfi_code_at_sigreturn(cp_cfi_strip(r->regs[30]), true) &&
	       function_of(r->pc) == r->pc && r->regs[29] >= r->sp + sizeof(ucontext_t) &&
	       (r->sp != last_sp || (!is_jump(last) && !is_plain_jump(last)));
}

static void push_signal(const struct user_regs_struct *r)
{
	uint64_t pc = *(const uint64_t *)cp_cfi_sigframe_slot(r->sp, CP_REG_PC);
	uint64_t sp = *(const uint64_t *)cp_cfi_sigframe_slot(r->sp, CP_REG_SP);

	/* A signal came in the handler, and is handled at its end, before the interrupted code. */
	if (pc != last_pc && cp_cfi_code_at_sigreturn(last_pc - CP_CFI_SIGRETURN_CALL, true))
		follow(insn_at(last_pc), pc, sp);
	oracle_shadow_push(&(struct oracle_call){ .slot = r->sp + 16, .ra = pc, .exact = true });
	oracle_shadow_push(
		&(struct oracle_call){ .slot = r->sp, .ra = r->regs[30], .exact = true });
}

static void begin_window(void)
{
	static struct oracle_walk outer;
	uint64_t entry = getauxval(AT_ENTRY);

	outer.n = cp_unwinder_dwarf.walk(&oracle_agent.in, outer.pcs, ORACLE_DEPTH, &outer.end);
	oracle_shadow_begin(&outer);
	oracle_compare_begin(entry);
	if (outer.end != CP_UNWIND_COMPLETE || outer.pcs[outer.n - 1] - entry >= 64)
		fprintf(stderr, "oracle: the first function's callers are not known\n");
}

/* Called by the tracer, in the program. */
void oracle_on_step(void);
void oracle_on_step(void)
{
	const struct user_regs_struct *r = &shared->regs;

	memcpy(oracle_agent.in.regs.r, r->regs, sizeof(r->regs));
	oracle_agent.in.regs.r[CP_REG_SP] = r->sp;
	oracle_agent.in.regs.r[CP_REG_PC] = r->pc;
	if (shared->doing == BEGIN_WINDOW)
		begin_window();
	else if (enters_handler(r))
		push_signal(r);
	else
		follow(insn_at(last_pc), r->pc, r->sp);
	oracle_compare(&oracle_agent.in);
	last_pc = r->pc;
	last_sp = r->sp;
	if (insn_at(r->pc) == 0xd4000001 && r->regs[8] == SYS_exit_group)
		oracle_finish("exit_group");
	if (++oracle_agent.steps >= oracle_agent.steps_max) {
		oracle_finish("the limit");
		syscall(SYS_exit_group, 0); /* what follows shows nothing, and may take minutes */
	}
	shared->enough = !oracle_agent.pid;
}

/* Called in the place of an instruction: the tracer keeps all registers. */
__asm__(".text\n"
	"oracle_enter:\n\t"
	"bl oracle_on_step\n\t"
	"brk #0x4f03\n");
extern const char oracle_enter[];

/* ---- the tracer ---- */

/* Reads (PTRACE_GETREGSET) or writes the registers of KIND, *SIZE bytes. */
static void change(int request, long kind, void *regs, size_t *size)
{
	struct iovec v = { regs, *size };

	if (ptrace(request, oracle_agent.pid, (void *)kind, &v))
		_exit(3);
	*size = v.iov_len;
}

static void change_regs(int request, struct user_regs_struct *r)
{
	size_t size = sizeof(*r);

	change(request, NT_PRSTATUS, r, &size);
}

/* Wait until the program stops. Returns the signal by which it did. */
static int wait_stopped(void)
{
	int status;

	if (waitpid(oracle_agent.pid, &status, __WALL) != oracle_agent.pid || !WIFSTOPPED(status))
		_exit(0);
	return WSTOPSIG(status);
}

static void go_on(int request, int sig)
{
	if (ptrace(request, oracle_agent.pid, NULL, (void *)(long)sig))
		_exit(0);
}

static uint32_t programs_insn(uint64_t pc)
{
	uint32_t insn = 0;
	struct iovec to = { &insn, sizeof(insn) }, from = { (void *)pc, sizeof(insn) };

	process_vm_readv(oracle_agent.pid, &to, 1, &from, 1, 0);
	return insn;
}

/* Let the program call oracle_on_step. Returns a signal that came meanwhile, or 0. */
static int tell(enum doing doing, const struct user_regs_struct *was)
{
	/* A system call in the agent clears what only SVE has of them. */
	static unsigned char vectors[16384];
	long kind = getauxval(AT_HWCAP) & HWCAP_SVE ? NT_ARM_SVE : NT_PRFPREG;
	struct user_regs_struct r = *was;
	size_t size = sizeof(vectors);
	int sig, other = 0;

	change(PTRACE_GETREGSET, kind, vectors, &size);
	shared->regs = *was;
	shared->doing = doing;
	r.pc = (uint64_t)oracle_enter;
	r.sp = (uint64_t)own_stack + OWN_STACK;
	r.regs[29] = r.regs[30] = 0;
	r.pstate &= ~UINT64_C(0xc00); /* no landing pad is expected */
	change_regs(PTRACE_SETREGSET, &r);
	for (;;) {
		go_on(PTRACE_CONT, 0);
		sig = wait_stopped();
		if (sig == SIGTRAP)
			break;
		if (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL) {
			fprintf(stderr, "oracle: signal %d in the agent\n", sig);
			_exit(4);
		}
		other = sig;
	}
	change_regs(PTRACE_GETREGSET, &r);
	if (programs_insn(r.pc) != BREAK(MARK_STEPPED)) {
		fprintf(stderr, "oracle: stopped at %#llx\n", r.pc);
		_exit(4);
	}
	r = *was;
	change_regs(PTRACE_SETREGSET, &r);
	change(PTRACE_SETREGSET, kind, vectors, &size);
	return other;
}

/* Stop the running program. Returns false if it stopped by itself, at the end of main. */
static bool stop_again(struct user_regs_struct *r)
{
	int sig;

	usleep((useconds_t)pause_ms * 1000);
	ptrace(PTRACE_INTERRUPT, oracle_agent.pid, NULL, NULL);
	while ((sig = wait_stopped()) != SIGTRAP)
		go_on(PTRACE_CONT, sig);
	change_regs(PTRACE_GETREGSET, r);
	return programs_insn(r->pc) != BREAK(MARK_END);
}

/* Step one window, from R on. Returns false if that was all. */
static bool step_window(struct user_regs_struct *r)
{
	int pending = tell(BEGIN_WINDOW, r), sig;

	for (uint64_t n = 0; !shared->enough && (!window || n < window); n++) {
		go_on(PTRACE_SINGLESTEP, pending);
		pending = 0;
		while ((sig = wait_stopped()) != SIGTRAP)
			go_on(PTRACE_SINGLESTEP, sig);
		change_regs(PTRACE_GETREGSET, r);
		if (programs_insn(r->pc) == BREAK(MARK_END))
			return false;
		pending = tell(STEP, r);
	}
	if (!shared->enough)
		go_on(PTRACE_CONT, pending);
	return !shared->enough;
}

static void trace(void)
{
	struct user_regs_struct r;
	int sig;

	if (ptrace(PTRACE_SEIZE, oracle_agent.pid, NULL, NULL))
		_exit(2);
	shared->enough = true; /* the tracer is there */
	while ((sig = wait_stopped()) != SIGTRAP)
		go_on(PTRACE_CONT, sig);
	change_regs(PTRACE_GETREGSET, &r);
	r.pc += 4;
	change_regs(PTRACE_SETREGSET, &r);
	while (step_window(&r) && stop_again(&r))
		;
	change_regs(PTRACE_GETREGSET, &r);
	if (programs_insn(r.pc) == BREAK(MARK_END)) {
		r.pc += 4;
		change_regs(PTRACE_SETREGSET, &r);
	}
	ptrace(PTRACE_DETACH, oracle_agent.pid, NULL, NULL);
	_exit(0);
}

/* The tracer is nobody's child, so that the program doesn't find one. */
static bool begin_tracer(void)
{
	pid_t child;

	oracle_agent.pid = getpid();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	child = fork();
	if (!child) {
		if (!fork())
			trace();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < 5000 && !__atomic_load_n(&shared->enough, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	return shared->enough;
}

__attribute__((noinline)) int oracle_stepped_main(int argc, char **argv, char **envp)
{
	int result;

	oracle_compare_start();
	oracle_know_stack();
	if (begin_tracer())
		MARK_OF(MARK_BEGIN);
	result = oracle_agent.program_main(argc, argv, envp);
	if (oracle_agent.pid && getpid() == oracle_agent.pid)
		MARK_OF(MARK_END);
	oracle_finish("the end of main");
	return result;
}

void oracle_settings(void)
{
	window = oracle_number("ORACLE_WINDOW", 0);
	pause_ms = oracle_number("ORACLE_PAUSE", 20);
}
