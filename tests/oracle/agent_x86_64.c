/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into the program that is stepped; see oracle.h.
 *
 * From the environment: ORACLE_OUT, the report's file; ORACLE_STEPS, how many instructions to step;
 * ORACLE_AFTER, CPU milliseconds of the program before the stepping begins (0: at main; else the
 * frames of before are known from a walk only, and checked when they are returned to); ORACLE_SKIP,
 * one in how many learned calls is stepped through (0: all); ORACLE_SEED; ORACLE_THREAD, which
 * of the threads that the program makes is stepped, from its start routine on (0: the main one). It
 * is taken out of the environment, so that the program's children run freely.
 *
 * Nothing that the program does may hide SIGTRAP: a changed signal mask is made to let it through.
 * The flag goes into new threads and processes with the other registers, and is cleared there.
 */
#include "oracle.h"

#include <sys/auxv.h>
#include <ucontext.h>

#include "system.h"
#include "sample/ring.h"

#define TRAP_FLAG 0x100
#define EXPORT __attribute__((visibility("default")))
#define HANDLER_STACK (512 << 10)

/* Breakpoints hit in other frames, while one call is skipped: a recursion's may be hit for hours.
 */
#define OTHERS_MAX 200000
static unsigned long others;

static uint64_t last_pc, last_sp;
static enum { OFF, STEPPING, SKIPPING, LIFTED } state;
static bool cloned;
static void *own_tls;
static uint64_t begin_after; /* CPU milliseconds; 0 = at main */
static unsigned thread_wanted, threads_made;
static char handler_stack[HANDLER_STACK] __attribute__((aligned(64)));

static void *tls(void)
{
	void *p;

	__asm__("movq %%fs:0, %0" : "=r"(p));
	return p;
}

bool oracle_is_on(void)
{
	return oracle_agent.pid != 0;
}

bool oracle_pause(bool pause)
{
	if (tls() != own_tls || (pause && state != STEPPING))
		return false;
	state = pause ? OFF : STEPPING;
	return true;
}

void oracle_resume_at(uint64_t pc, uint64_t sp)
{
	last_pc = pc;
	last_sp = sp;
	state = STEPPING;
}

__attribute__((destructor)) static void at_exit(void)
{
	oracle_finish(state == STEPPING || state == OFF ? "exit" : "exit while skipping");
}

EXPORT void _exit(int status)
{
	oracle_finish("_exit");
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

/* ---- system calls that would end the stepping ---- */

static uint64_t *reg(ucontext_t *uc, int r)
{
	return (uint64_t *)&uc->uc_mcontext.gregs[r];
}

/* rt_sigprocmask, done for the program, so that SIGTRAP stays open. */
static void change_mask(ucontext_t *uc)
{
	uint64_t *mask = (uint64_t *)&uc->uc_sigmask, set = 0;
	const uint64_t *from = (const uint64_t *)*reg(uc, REG_RSI);
	uint64_t old = *mask;

	if (from) {
		set = *from;
		switch (*reg(uc, REG_RDI)) {
		case SIG_BLOCK: *mask |= set; break;
		case SIG_UNBLOCK: *mask &= ~set; break;
		case SIG_SETMASK: *mask = set; break;
		}
		*mask &= ~(UINT64_C(1) << (SIGTRAP - 1));
	}
	if (*reg(uc, REG_RDX))
		*(uint64_t *)*reg(uc, REG_RDX) = old;
	*reg(uc, REG_RAX) = 0;
	*reg(uc, REG_RIP) += 2;
}

/* The next instruction is a system call. */
static void before_syscall(ucontext_t *uc)
{
	switch (*reg(uc, REG_RAX)) {
	case SYS_rt_sigprocmask: change_mask(uc); break;
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork: cloned = true; break;
	case SYS_munmap: oracle_compare_forget(); break;
	case SYS_exit_group: oracle_finish("exit_group"); break;
	}
}

static bool is_syscall(uint64_t pc)
{
	return ((const uint8_t *)pc)[0] == 0x0f && ((const uint8_t *)pc)[1] == 0x05;
}

/* ---- what instructions do with the stack ----
 *
 * A return, or a jump to where a register says (longjmp, an exception's landing), with the stack
 * pointer above a return address has left that frame. A jump at a function's end (a tail call)
 * changes nothing, as it should. Generated code pops its return address, moves the stack pointer,
 * and pushes it again: the frame is still there in between, and then its slot is another one. */

/* The prefixes that occur before a call: notrack, bnd, data16 (__tls_get_addr's padding), REX; and
 * rep before ret. */
static const uint8_t *skip_prefixes(const uint8_t *p)
{
	while (*p == 0x3e || *p == 0xf2 || *p == 0xf3 || *p == 0x66 || *p == 0x67 || *p == 0x64 ||
	       (*p & 0xf0) == 0x40)
		p++;
	return p;
}

/* Can the instruction at P leave its function? A return, a jump to where a register or a word
 * says, a call, a system call (sigreturn). */
static bool leaves(const uint8_t *p)
{
	unsigned op;

	p = skip_prefixes(p);
	op = p[1] >> 3 & 7;
	return *p == 0xc3 || *p == 0xc2 || *p == 0xe8 || (*p == 0xff && (op == 2 || op == 4)) ||
	       (*p == 0x0f && p[1] == 0x05);
}

static void moved(uint64_t from, uint64_t last, uint64_t sp)
{
	struct oracle_call *top = oracle_shadow_call(0);

	if (leaves((const uint8_t *)from)) {
		oracle_shadow_pop(sp);
		return;
	}
	if (!top)
		return;
	top->lifted |= top->slot < sp;
	if (top->lifted && sp < last && *(const uint64_t *)sp == top->ra) {
		top->slot = sp;
		top->lifted = false;
	}
}

static unsigned call_size(const uint8_t *p)
{
	const uint8_t *begin = p;

	p = skip_prefixes(p);
	return *p == 0xe8 || (*p == 0xff && (p[1] & 0x38) == 0x10) ? (unsigned)(p - begin) + 2 : 0;
}

static bool is_call(uint64_t from, uint64_t sp, uint64_t *ra)
{
	unsigned size = call_size((const uint8_t *)from);

	*ra = *(const uint64_t *)sp;
	return size && *ra >= from + size && *ra <= from + 15;
}

static bool is_return(uint64_t from)
{
	const uint8_t *p = (const uint8_t *)from;

	p += *p == 0xf3 || *p == 0xf2;
	return *p == 0xc3 || *p == 0xc2;
}

/* ---- steps ---- */

static void go_on(ucontext_t *uc)
{
	state = STEPPING;
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	last_pc = *reg(uc, REG_RIP);
	last_sp = *reg(uc, REG_RSP);
}

static void learn_call(uint64_t pc, uint64_t sp, bool *skip)
{
	struct oracle_call call = { .slot = sp, .callee = pc };

	*skip = false;
	if (sp != last_sp - 8 || !is_call(last_pc, sp, &call.ra))
		return;
	oracle_shadow_push(&call);
	*skip = oracle_skip_wanted(pc);
}

static void on_single_step(ucontext_t *uc)
{
	uint64_t pc = *reg(uc, REG_RIP), sp = *reg(uc, REG_RSP);
	bool skip;

	if (cloned) {
		cloned = false;
		if (*reg(uc, REG_RAX) == 0) { /* a child process */
			uc->uc_mcontext.gregs[REG_EFL] &= ~(long)TRAP_FLAG;
			cloned = true; /* for the parent, whose memory it may be in */
			return;
		}
	}
	oracle_agent.steps++;
	if (oracle_agent.steps > oracle_agent.steps_max) {
		uc->uc_mcontext.gregs[REG_EFL] &= ~(long)TRAP_FLAG;
		state = OFF;
		oracle_finish("the limit");
		return;
	}
	if (is_return(last_pc))
		oracle_shadow_returned(pc);
	moved(last_pc, last_sp, sp);
	cp_regs_of_context(&oracle_agent.in.regs, uc);
	learn_call(pc, sp, &skip);
	/* Before breakpoints are in the code, which the walk reads. */
	oracle_compare(&oracle_agent.in);
	if (skip) {
		oracle_skip_plant();
		state = SKIPPING;
		uc->uc_mcontext.gregs[REG_EFL] &= ~(long)TRAP_FLAG;
		return;
	}
	if (is_syscall(pc))
		before_syscall(uc);
	go_on(uc);
}

static void on_trap(void *context)
{
	ucontext_t *uc = context;
	uint64_t pc = *reg(uc, REG_RIP), sp = *reg(uc, REG_RSP);

	switch (state) {
	case OFF: uc->uc_mcontext.gregs[REG_EFL] &= ~(long)TRAP_FLAG; break;
	case STEPPING: on_single_step(uc); break;
	case LIFTED:
		oracle_skip_replant();
		state = SKIPPING;
		uc->uc_mcontext.gregs[REG_EFL] &= ~(long)TRAP_FLAG;
		break;
	case SKIPPING:
		switch (oracle_skip_hit(pc, sp)) {
		case ORACLE_HIT_NONE: break;
		case ORACLE_HIT_BACK:
			*reg(uc, REG_RIP) = pc - 1;
			others = 0;
			oracle_shadow_pop(sp);
			cp_regs_of_context(&oracle_agent.in.regs, uc);
			oracle_agent.in.regs.r[CP_REG_PC] = pc - 1;
			oracle_compare(&oracle_agent.in);
			go_on(uc);
			if (is_syscall(pc - 1))
				before_syscall(uc);
			break;
		case ORACLE_HIT_OTHER:
			*reg(uc, REG_RIP) = pc - 1;
			if (++others > OTHERS_MAX) {
				oracle_skip_clear();
				state = OFF;
				oracle_finish("a recursion");
				break;
			}
			uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
			state = LIFTED;
		}
	}
}

static void on_sigtrap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (tls() != own_tls) { /* another thread */
		if (info->si_code == SI_KERNEL && oracle_skip_lift(*reg(uc, REG_RIP)))
			*reg(uc, REG_RIP) -= 1;
		uc->uc_mcontext.gregs[REG_EFL] &= ~(long)TRAP_FLAG;
		return;
	}
	cp_call_on_stack(on_trap, uc, handler_stack + sizeof(handler_stack));
}

/* In clone and clone3, the call of the start function is followed by mov $SYS_exit, %eax; syscall.
 */
static bool begins_a_thread(uint64_t pc)
{
	static const uint8_t leave[] = { 0xb8, SYS_exit, 0, 0, 0, 0x0f, 0x05 };

	return memmem((const void *)pc, 16, leave, sizeof(leave)) != NULL;
}

static bool is_known(const struct oracle_walk *outer)
{
	uint64_t root = outer->pcs[outer->n - 1];

	if (outer->end != CP_UNWIND_COMPLETE || (!begin_after && outer->n > 5))
		return false;
	return thread_wanted ? begins_a_thread(root) : root - getauxval(AT_ENTRY) < 64;
}

static void know_outside(int sig, siginfo_t *info, void *context)
{
	static struct oracle_walk outer;
	struct sigaction sa = { .sa_sigaction = on_sigtrap, .sa_flags = SA_SIGINFO };

	sigfillset(&sa.sa_mask);
	oracle_sigaction(SIGTRAP, &sa);
	cp_regs_of_context(&oracle_agent.in.regs, context);
	outer.n = cp_unwinder_dwarf.walk(&oracle_agent.in, outer.pcs, ORACLE_DEPTH, &outer.end);
	oracle_shadow_begin(&outer);
	if (is_known(&outer))
		oracle_compare_begin(thread_wanted ? outer.pcs[outer.n - 1] : getauxval(AT_ENTRY));
	else
		fprintf(stderr, "oracle: the first function's callers are not known\n");
	go_on(context);
}

/* SIGTRAP for the main thread, once, after so much of its CPU time. */
static void arm(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGTRAP };
	struct itimerspec once = { .it_value = { (time_t)(begin_after / 1000),
						 (long)(begin_after % 1000) * 1000000 } };
	timer_t timer;

	ev._sigev_un._tid = getpid();
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &timer) ||
	    timer_settime(timer, 0, &once, NULL))
		fprintf(stderr, "oracle: no timer\n");
}

static void begin(void)
{
	struct sigaction sa = { .sa_sigaction = know_outside, .sa_flags = SA_SIGINFO };

	own_tls = tls();
	oracle_know_stack();
	oracle_sigaction(SIGTRAP, &sa);
}

__attribute__((noinline)) int oracle_stepped_main(int argc, char **argv, char **envp)
{
	int result;

	oracle_compare_start();
	if (!thread_wanted)
		begin();
	if (begin_after)
		arm();
	else if (!thread_wanted)
		__asm__ volatile("int3" ::: "memory");
	result = oracle_agent.program_main(argc, argv, envp);
	oracle_pause(true);
	return result;
}

struct start {
	void *(*routine)(void *);
	void *arg;
};

static __attribute__((noinline)) void *stepped_thread(void *arg)
{
	struct start start = *(struct start *)arg;
	sigset_t trap;
	void *result;

	free(arg);
	begin();
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	pthread_sigmask(SIG_UNBLOCK, &trap, NULL); /* its maker may have blocked all */
	__asm__ volatile("int3" ::: "memory");
	result = start.routine(start.arg);
	oracle_pause(true);
	__asm__ volatile("nop" ::: "memory"); /* its trap clears the flag */
	return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			  void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct start *start;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (!oracle_agent.pid || !thread_wanted ||
	    __atomic_add_fetch(&threads_made, 1, __ATOMIC_RELAXED) != thread_wanted)
		return real(thread, attr, routine, arg);
	start = malloc(sizeof(*start));
	*start = (struct start){ routine, arg };
	return real(thread, attr, stepped_thread, start);
}

void oracle_settings(void)
{
	begin_after = oracle_number("ORACLE_AFTER", 0);
	thread_wanted = (unsigned)oracle_number("ORACLE_THREAD", 0);
	oracle_skip_rate = (unsigned)oracle_number("ORACLE_SKIP", oracle_skip_rate);
	oracle_skip_seed = oracle_number("ORACLE_SEED", 1) * 88172645463325253u | 1;
	oracle_agent.pid = getpid();
}
