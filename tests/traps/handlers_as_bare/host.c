/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what the program's signal handlers see, a line for each combination of a signal, the flags
 * and the mask of its handler, the alternate stack and the thread: where the handler's frame is,
 * sigaltstack, both masks, the siginfo, the registers, and the backtrace. The output must be the
 * same under the profiler.
 *
 * "table" has each combination; the handler returns, or jumps out. "itimer" is the program's own
 * ITIMER_PROF, whose handler needs more than the alternate stack. "late FILE" is the same while the
 * profiler starts a CPU profile and stops it. "switches" has user threads that the handler of
 * ITIMER_PROF switches. "guard" gets a SIGPROF where the thread's stack ends: SIGSEGV.
 */
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif
#include <setjmp.h>
#include <sys/time.h>
#include <ucontext.h>

#include "cprof.h"
#define HOST_HAS_TIMERS
#include "host.h"

#define PAGE 65536 /* or several smaller ones */
#define FRAMES 32

/* What the handler of one signal has seen. */
static struct {
	volatile int times, nested;
	int depth, in_alternate;
	long distance; /* of the frame from the top of its stack */
	stack_t told, kept;
	uint64_t mask, mask_before;
	siginfo_t info;
	int registers, still_set;
	unsigned control;
	void *frames[FRAMES];
	int count;
} seen;

static stack_t alternate;
static bool jumps, twice;
static sigjmp_buf out;

static uint64_t word_of(const sigset_t *set)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	return word;
}

#define MAGIC 0x1122334455667700

#ifdef __x86_64__
static uint64_t sp_of(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
}

static int registers_of(const ucontext_t *uc)
{
	static const int which[] = { REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15 };
	int same = 0;

	for (int i = 0; i < 5; i++)
		same += uc->uc_mcontext.gregs[which[i]] == MAGIC + i;
	return same;
}

static unsigned control(void)
{
	return __builtin_ia32_stmxcsr() & ~0x3fu;
}

/* Send SIG to this thread, by a system call that nobody stands in front of. Returns how many of the
 * registers the handler has left alone. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static int send(int sig)
{
	register long rbx __asm__("rbx") = MAGIC;
	register long r12 __asm__("r12") = MAGIC + 1, r13 __asm__("r13") = MAGIC + 2;
	register long r14 __asm__("r14") = MAGIC + 3, r15 __asm__("r15") = MAGIC + 4;
	long result = SYS_tgkill, pid = getpid(), tid = (long)syscall(SYS_gettid);
	unsigned before = control();
	/* Where the frame is depends on the stack pointer's last bits. */
	volatile char aligned[64] __attribute__((aligned(64), unused));

	aligned[0] = 0;
	__builtin_ia32_ldmxcsr(before | 0x8000); /* flush to zero */
	__asm__ volatile("syscall"
			 : "+a"(result), "+r"(rbx), "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15)
			 : "D"(pid), "S"(tid), "d"(sig)
			 : "rcx", "r11", "memory");
	result = (rbx == MAGIC) + (r12 == MAGIC + 1) + (r13 == MAGIC + 2) + (r14 == MAGIC + 3) +
		 (r15 == MAGIC + 4) + 10 * (control() == (before | 0x8000));
	__builtin_ia32_ldmxcsr(before);
	return (int)result;
}
#else
static uint64_t sp_of(const ucontext_t *uc)
{
	return uc->uc_mcontext.sp;
}

static int registers_of(const ucontext_t *uc)
{
	int same = 0;

	for (int i = 0; i < 5; i++)
		same += uc->uc_mcontext.regs[19 + i] == (uint64_t)MAGIC + (unsigned)i;
	return same;
}

static unsigned control(void)
{
	uint64_t fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return (unsigned)fpcr;
}

static void set_control(uint64_t fpcr)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}

__attribute__((noinline)) static int send(int sig)
{
	register long x19 __asm__("x19") = MAGIC;
	register long x20 __asm__("x20") = MAGIC + 1, x21 __asm__("x21") = MAGIC + 2;
	register long x22 __asm__("x22") = MAGIC + 3, x23 __asm__("x23") = MAGIC + 4;
	long pid = getpid(), tid = (long)syscall(SYS_gettid);
	register long x8 __asm__("x8") = SYS_tgkill, x0 __asm__("x0") = pid;
	register long x1 __asm__("x1") = tid, x2 __asm__("x2") = sig;
	unsigned before = control();
	int result;

	set_control(before | 1 << 24); /* flush to zero */
	__asm__ volatile("svc #0"
			 : "+r"(x0), "+r"(x19), "+r"(x20), "+r"(x21), "+r"(x22), "+r"(x23)
			 : "r"(x8), "r"(x1), "r"(x2)
			 : "memory");
	result = (x19 == MAGIC) + (x20 == MAGIC + 1) + (x21 == MAGIC + 2) + (x22 == MAGIC + 3) +
		 (x23 == MAGIC + 4) + 10 * (control() == (before | 1 << 24));
	set_control(before);
	return result;
}
#endif

static void look(int sig, const siginfo_t *si, const ucontext_t *uc)
{
	uint64_t top = (uint64_t)(uintptr_t)alternate.ss_sp + alternate.ss_size;
	sigset_t now;
	int depth;

	seen.depth = seen.times - seen.nested;
	seen.in_alternate = alternate.ss_sp && (char *)uc >= (char *)alternate.ss_sp &&
			    (char *)uc < (char *)alternate.ss_sp + alternate.ss_size;
	seen.distance = (long)((seen.in_alternate ? top : sp_of(uc)) - (uintptr_t)uc);
	sigaltstack(NULL, &seen.told);
	seen.kept = uc->uc_stack;
	sigprocmask(SIG_BLOCK, NULL, &now);
	seen.mask = word_of(&now);
	seen.mask_before = word_of(&uc->uc_sigmask);
	seen.info = *si;
	seen.registers = registers_of(uc);
	seen.count = backtrace(seen.frames, FRAMES);
	depth = seen.times;
	/* A second one: at once with SA_NODEFER, otherwise when the handler has returned. */
	if (twice && depth == 1)
		send(sig);
}

static void handle(int sig, siginfo_t *si, void *uc)
{
	unsigned had = control();

	seen.times++;
	if (seen.times == 1)
		seen.control = had;
	if (seen.times == 1)
		look(sig, si, uc);
	seen.nested++;
	if (jumps)
		siglongjmp(out, 1);
}

/* The kernel passes the same arguments whether SA_SIGINFO is set or not; the handler may not use
 * them, so it sees its frame only. */
static void handle_plain(int sig)
{
	seen.times++;
	if (seen.times == 1) {
		seen.control = control();
		sigaltstack(NULL, &seen.told);
		seen.count = backtrace(seen.frames, FRAMES);
		seen.in_alternate = (char *)&sig >= (char *)alternate.ss_sp &&
				    (char *)&sig < (char *)alternate.ss_sp + alternate.ss_size;
	}
	if (jumps)
		siglongjmp(out, 1);
}

/* Frames of the program itself by their functions' place in it, others by their file. The
 * beginning of a thread is left out. */
static void show_frames(void)
{
	Dl_info own, at;

	dladdr((void *)(uintptr_t)show_frames, &own);
	for (int i = 0; i < seen.count; i++) {
		const char *name = "?";

		if (!dladdr(seen.frames[i], &at)) {
			printf(" ?");
			continue;
		}
		name = strrchr(at.dli_fname, '/') ? strrchr(at.dli_fname, '/') + 1 : at.dli_fname;
		if (at.dli_fbase == own.dli_fbase)
			printf(" %lx", (long)((char *)seen.frames[i] - (char *)at.dli_fbase));
		else if (i < 4)
			printf(" %s", name);
		else
			break;
	}
	putchar('\n');
}

static void show_stack(const char *what, const stack_t *s)
{
	printf(" %s %s/%zu/%x", what, s->ss_sp == alternate.ss_sp ? "it" : "another", s->ss_size,
	       (unsigned)s->ss_flags);
}

static void show(int sig, int flags, int set, size_t size, int kept)
{
	struct sigaction now;

	printf("%2d flags %8x mask %d stack %zu %s: ", sig, (unsigned)flags, set, size,
	       jumps ? "jumps" : "returns");
	printf("%d times, %d in the first, %s %ld,", seen.times, seen.depth,
	       seen.in_alternate ? "alternate" : "below", seen.distance);
	show_stack("told", &seen.told);
	show_stack("kept", &seen.kept);
	printf(" mask %llx before %llx code %d pid %d regs %d/%d control %x",
	       (unsigned long long)seen.mask, (unsigned long long)seen.mask_before,
	       seen.info.si_code, seen.info.si_pid == getpid(), seen.registers, kept, seen.control);
	sigaction(sig, NULL, &now);
	printf(" then %s:", now.sa_handler == SIG_DFL ? "default" : "handled");
	show_frames();
}

static const int signals[] = { SIGPROF, SIGABRT, SIGSEGV, SIGTERM, SIGUSR2, SIGCHLD };
/* Treated like some of these: each pair of two flags is enough. */
static const int others[] = { SIGBUS,  SIGFPE, SIGILL,	SIGTRAP, SIGQUIT,
			      SIGXCPU, SIGSYS, SIGUSR1, SIGHUP };
static const int pairs[] = { 0, 3, 5, 10, 12, 17, 22, 25, 30 };

/* Install the handler and send SIG, until it comes: the kernel keeps one SIGPROF pending, and it
 * may be a sample. */
static void try(int sig, int flags, int set, size_t size)
{
	struct sigaction act = { .sa_flags = flags };
	sigset_t before, after;
	volatile int kept = -1;

	if (flags & SA_SIGINFO)
		act.sa_sigaction = handle;
	else
		act.sa_handler = handle_plain;
	if (set)
		sigaddset(&act.sa_mask, set == 1 ? SIGPROF : SIGUSR1);
	if (set == 3)
		sigfillset(&act.sa_mask);
	memset(&seen, 0, sizeof(seen));
	/* Where a handler was left by a jump, the profiler puts the alternate stack back later, and
	 * handlers without SA_ONSTACK have another one in their context until then. */
	if (size && !(flags & SA_ONSTACK))
		EXPECT(sigaltstack(&alternate, NULL) == 0);
	sigprocmask(SIG_BLOCK, NULL, &before);
	while (!seen.times) {
		EXPECT(sigaction(sig, &act, NULL) == 0);
		if (!sigsetjmp(out, 1))
			kept = send(sig);
	}
	show(sig, flags, set, size, kept);
	sigprocmask(SIG_BLOCK, NULL, &after);
	EXPECT(word_of(&before) == word_of(&after));
	EXPECT(signal(sig, SIG_DFL) != SIG_ERR);
}

static void set_alternate(size_t size)
{
	char *p =
		mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p, PAGE, PROT_NONE);
	alternate = (stack_t){ .ss_sp = p + PAGE, .ss_size = size };
	EXPECT(sigaltstack(&alternate, NULL) == 0);
}

static void drop_alternate(void)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	EXPECT(sigaltstack(&none, NULL) == 0);
	munmap((char *)alternate.ss_sp - PAGE, alternate.ss_size + PAGE);
	alternate = (stack_t){ 0 };
}

/* Set how the handler is left, and return its flags: both are in BITS. */
static int flags_of(int sig, int bits)
{
	bool again = (bits & 4) && !(bits & 8) && sig != SIGPROF;

	jumps = bits & 16;
	twice = again && !jumps && (bits & 1);
	return (bits & 1 ? SA_SIGINFO : 0) | (bits & 2 ? SA_ONSTACK : 0) |
	       (bits & 4 ? SA_NODEFER : 0) | (bits & 8 ? (int)SA_RESETHAND : 0);
}

__attribute__((noinline)) static void each_flag(size_t size)
{
	for (size_t s = 0; s < sizeof(signals) / sizeof(*signals); s++)
		for (int bits = 0; bits < 32; bits++) {
			int flags = flags_of(signals[s], bits);

			/* SIGPROF with each mask, others with none and with a full one. The
			 * profiler writes its files for each SIGABRT. */
			for (int set = 0; set < (signals[s] == SIGABRT ? 1 : 4);
			     set += signals[s] == SIGPROF ? 1 : 3)
				try(signals[s], flags, set, size);
		}
	for (size_t s = 0; s < sizeof(others) / sizeof(*others); s++)
		for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
			try(others[s], flags_of(others[s], pairs[i]), i % 2 ? 3 : 0, size);
}

__attribute__((noinline)) static void *table(void *arg)
{
	each_flag(0);
	set_alternate(16384);
	each_flag(16384);
	drop_alternate();
	set_alternate(256 << 10);
	each_flag(256 << 10);
	drop_alternate();
	return arg;
}

static void *spins(void *arg)
{
	while (!*(volatile int *)arg)
		;
	return NULL;
}

static volatile int hits, in_alternate;

static void needs_much(int sig, siginfo_t *si, void *uc)
{
	volatile char big[40000];

	for (size_t i = 0; i < sizeof(big); i += 512)
		big[i] = 1;
	in_alternate += (char *)big + sizeof(big) > (char *)alternate.ss_sp &&
			(char *)big < (char *)alternate.ss_sp + alternate.ss_size;
	hits++;
}

static void start_itimer(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } };

	EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
	EXPECT(setitimer(ITIMER_PROF, &every, NULL) == 0);
}

static void itimer(void)
{
	set_alternate(8192);
	start_itimer(needs_much);
	while (hits < 10)
		burn(0.01);
	printf("in the alternate stack: %d\n", in_alternate);
}

/* Has the kernel a handler for SIGPROF? */
static int is_caught(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long long caught = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "SigCgt: %llx", &caught);
	if (status)
		fclose(status);
	return (caught >> (SIGPROF - 1)) & 1;
}

static void wait_for_hits(const char *when)
{
	struct sigaction now;

	hits = in_alternate = 0;
	while (hits < 10)
		burn(0.01);
	EXPECT(sigaction(SIGPROF, NULL, &now) == 0);
	printf("%s: in the alternate stack: %d, flags %x, %s\n", when, in_alternate,
	       (unsigned)now.sa_flags, now.sa_sigaction == needs_much ? "its handler" : "another");
}

/* A handler with SA_ONSTACK must leave room for samples. */
static void look_once(int sig, siginfo_t *si, void *uc)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	printf("alternate %d, mask %llx\n",
	       (char *)uc >= (char *)alternate.ss_sp &&
		       (char *)uc < (char *)alternate.ss_sp + alternate.ss_size,
	       (unsigned long long)word_of(&now));
	burn(0.02);
}

static void late(const char *path)
{
	struct sigaction act = { .sa_sigaction = look_once, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct itimerval off = { { 0, 0 }, { 0, 0 } };
	int (*start)(const struct cprof_options *), (*end)(void);
	struct cprof_options o = CPROF_OPTIONS_INIT;

	*(void **)&start = dlsym(RTLD_DEFAULT, "cprof_start");
	*(void **)&end = dlsym(RTLD_DEFAULT, "cprof_stop");
	o.cpu_path = path;
	o.frequency = 1000;
	printf("caught at the start: %d\n", is_caught());
	/* The handler of ITIMER_PROF may interrupt that of SIGUSR1. */
	set_alternate(128 << 10);
	EXPECT(sigaction(SIGUSR1, &act, NULL) == 0);
	start_itimer(needs_much);
	wait_for_hits("before");
	EXPECT(!start || start(&o) == 0);
	raise(SIGUSR1);
	wait_for_hits("while it runs");
	burn(0.1);
	EXPECT(!end || end() == 0);
	wait_for_hits("after it");
	raise(SIGUSR1);
	EXPECT(setitimer(ITIMER_PROF, &off, NULL) == 0);
	signal(SIGPROF, SIG_IGN);
	raise(SIGPROF);
	signal(SIGPROF, SIG_DFL);
	fflush(stdout);
	raise(SIGPROF);
}

#define USERS 3
static ucontext_t users[USERS], back;
static volatile int current, switches, wrong;
static volatile unsigned long turns[USERS];

static void next_user(int sig, siginfo_t *si, void *uc)
{
	int from = current;

	switches++;
	current = (current + 1) % USERS;
	swapcontext(&users[from], &users[current]);
}

static void user(int me)
{
	struct itimerval off = { { 0, 0 }, { 0, 0 } };
	sigset_t prof;

	while (switches < 30) {
		wrong += current != me;
		turns[me]++;
	}
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	sigprocmask(SIG_BLOCK, &prof, NULL);
	setitimer(ITIMER_PROF, &off, NULL);
	setcontext(&back);
}

static void run_users(void)
{
	static char stacks[USERS][64 << 10];
	volatile bool began = false;

	set_alternate(256 << 10);
	for (int i = 0; i < USERS; i++) {
		EXPECT(getcontext(&users[i]) == 0);
		users[i].uc_stack.ss_sp = stacks[i];
		users[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&users[i], (void (*)(void))user, 1, i);
	}
	getcontext(&back);
	if (!began) {
		began = true;
		start_itimer(next_user);
		setcontext(&users[0]);
	}
	for (int i = 0; i < USERS; i++)
		EXPECT(turns[i] > 0);
	printf("turns of the wrong one: %d\n", wrong ? 1 : 0);
}

static void on_segv(int sig, siginfo_t *si, void *uc)
{
	static const char said[] = "SIGSEGV on the alternate stack\n";

	if (si->si_code == SI_KERNEL && write(1, said, sizeof(said) - 1) > 0)
		_exit(7);
	_exit(8);
}

/* A stack that has no room for a frame. */
static void at_the_end(void)
{
	static char none[2 * PAGE] __attribute__((aligned(PAGE)));
	struct sigaction act = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	ucontext_t there;

	set_alternate(64 << 10);
	EXPECT(sigaction(SIGSEGV, &act, NULL) == 0);
	act.sa_sigaction = needs_much;
	act.sa_flags = SA_SIGINFO;
	EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
	EXPECT(mprotect(none, PAGE, PROT_NONE) == 0);
	getcontext(&there);
	there.uc_stack.ss_sp = none;
	there.uc_stack.ss_size = PAGE + 3072;
	EXPECT(getpid() > 0 && syscall(SYS_gettid) > 0); /* linked now, which needs much stack */
	makecontext(&there, (void (*)(void))send, 1, SIGPROF);
	fflush(stdout);
	setcontext(&there);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "table";
	void *first[FRAMES];
	volatile int ended = 0;
	pthread_t other, spinner;

	backtrace(first, FRAMES); /* loads libgcc */
	if (!strcmp(what, "itimer")) {
		itimer();
	} else if (!strcmp(what, "switches")) {
		run_users();
	} else if (!strcmp(what, "late")) {
		late(argv[2]);
	} else if (!strcmp(what, "guard")) {
		at_the_end();
	} else {
		table(NULL);
		EXPECT(pthread_create(&spinner, NULL, spins, (void *)&ended) == 0);
		EXPECT(pthread_create(&other, NULL, table, NULL) == 0);
		EXPECT(pthread_join(other, NULL) == 0);
		ended = 1;
		EXPECT(pthread_join(spinner, NULL) == 0);
	}
	HOST_END();
}
