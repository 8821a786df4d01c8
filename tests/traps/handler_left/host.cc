/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers on an alternate stack that don't return.
 *
 *   left-handlers longjmp      by longjmp, which leaves the mask as it is in the handler
 *   left-handlers siglongjmp   with the mask of before
 *   left-handlers throw        by an exception
 *   left-handlers returns      they return
 */
#include <alloca.h>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/auxv.h>

#include "host.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define PAINT 0xa5
#define BELOW 4096
#define LEAST 1024

static const char *how;
static thread_local sigjmp_buf to;
static thread_local unsigned char *area;
static thread_local size_t size;
static volatile int nested;

/* Room for one frame and an ordinary handler. */
static void set_alternate()
{
	stack_t ss = {}, now;
	size_t frame = getauxval(AT_MINSIGSTKSZ);

	/* libgcc's unwinder takes more than 4 KiB to throw. */
	size = (frame > 2048 ? frame : 2048) + (strcmp(how, "throw") ? 4096 : 16384);
	area = static_cast<unsigned char *>(malloc(BELOW + size));
	memset(area, PAINT, BELOW + size);
	ss.ss_sp = area + BELOW;
	ss.ss_size = size;
	EXPECT(sigaltstack(&ss, nullptr) == 0);
	EXPECT(sigaltstack(nullptr, &now) == 0);
	EXPECT(now.ss_sp == ss.ss_sp && now.ss_size == size && now.ss_flags == 0);
}

static bool is_on_alternate(const void *p)
{
	return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(area + BELOW) < size;
}

static void expect_alternate(int flags)
{
	stack_t now;

	EXPECT(sigaltstack(nullptr, &now) == 0);
	EXPECT(now.ss_sp == area + BELOW && now.ss_size == size && now.ss_flags == flags);
}

/* As the kernel has it, and as libc tells: the same as without a profiler. */
static void say_masks(const char *when)
{
	uint64_t kernel = 0, libc = 0;
	sigset_t set;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &kernel, sizeof(kernel));
	sigprocmask(SIG_BLOCK, nullptr, &set);
	memcpy(&libc, &set, sizeof(libc));
	printf("%s: %llx %llx\n", when, static_cast<unsigned long long>(kernel),
	       static_cast<unsigned long long>(libc));
}

static void on_nested(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)si;
	(void)context;
	nested++;
}

/* With no room for another frame: all but LEAST bytes of the stack are used. */
extern "C" __attribute__((noinline)) void work_in_handler(size_t left)
{
	char *used = static_cast<char *>(alloca(left - LEAST));

	used[0] = 1;
	burn_and_tick(0.01);
	__asm__ volatile("" : : "r"(used) : "memory");
}

static void on_segv(int sig, siginfo_t *si, void *context)
{
	const stack_t other = { area, 0, size };
	char here;

	(void)si;
	(void)context;
	EXPECT(is_on_alternate(&here));
	if (!is_on_alternate(&here))
		_exit(9); /* the following code relies on it */
	expect_alternate(SS_ONSTACK);
	errno = 0;
	EXPECT(sigaltstack(&other, nullptr) < 0 && errno == EPERM);
	say_masks("inside");
	work_in_handler(static_cast<size_t>(&here - reinterpret_cast<char *>(area + BELOW)));
	if (!strcmp(how, "longjmp"))
		longjmp(to, 1);
	if (!strcmp(how, "siglongjmp"))
		siglongjmp(to, 1);
	if (!strcmp(how, "throw"))
		throw sig;
}

extern "C" __attribute__((noinline)) void fault()
{
	if (!strcmp(how, "returns"))
		raise(SIGSEGV);
	else
		*static_cast<volatile int *>(nullptr) = 1;
}

/* As the kernel has it, past everybody. */
static bool kernel_has_it()
{
	stack_t now = {};
#if defined(__x86_64__)
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_sigaltstack), "D"(nullptr), "S"(&now)
			 : "rcx", "r11", "memory");
#else
	register long r __asm__("x8") = SYS_sigaltstack;
	register const void *none __asm__("x0") = nullptr;
	register stack_t *to_now __asm__("x1") = &now;

	__asm__ volatile("svc 0" : "+r"(none) : "r"(r), "r"(to_now) : "memory");
#endif
	return now.ss_sp == area + BELOW;
}

/* Until a sample has come, which puts the program's stack back: on a busy machine the kernel's tick
 * may miss a thread for long. */
extern "C" __attribute__((noinline)) void after_handler()
{
	for (int i = 0; i < 100; i++) {
		burn(0.05);
		if (kernel_has_it())
			break;
	}
	EXPECT(kernel_has_it());
}

__attribute__((noinline)) static void run_once()
{
	try {
		if (!sigsetjmp(to, !strcmp(how, "siglongjmp")))
			fault();
	} catch (int sig) {
		EXPECT(sig == SIGSEGV);
	}
}

static void unblock()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	EXPECT(sigprocmask(SIG_UNBLOCK, &set, nullptr) == 0);
}

static void *run(void *arg)
{
	set_alternate();
	for (int i = 0; i < 2; i++) {
		run_once();
		say_masks("after");
		after_handler();
		expect_alternate(0);
		unblock();
		/* Another one: the stack is free again. */
		nested = 0;
		raise(SIGUSR1);
		EXPECT(nested == 1);
	}
	for (int i = 0; i < BELOW; i++)
		EXPECT(area[i] == PAINT);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction act = {}, view;
	pthread_t t;

	if (argc < 2)
		return 2;
	how = argv[1];
	/* The loader resolves what these call, which takes more stack than they do. */
	burn_and_tick(0);
	try {
		throw SIGSEGV;
	} catch (int) {
	}
	act.sa_sigaction = on_segv;
	act.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaddset(&act.sa_mask, SIGUSR2);
	EXPECT(sigaction(SIGSEGV, &act, nullptr) == 0);
	EXPECT(sigaction(SIGSEGV, nullptr, &view) == 0);
	EXPECT(view.sa_sigaction == on_segv && sigismember(&view.sa_mask, SIGPROF) == 0);
	EXPECT((view.sa_flags & (SA_SIGINFO | SA_ONSTACK | SA_RESTART)) == act.sa_flags);
	act.sa_sigaction = on_nested;
	EXPECT(sigaction(SIGUSR1, &act, nullptr) == 0);
	run(nullptr);
	pthread_create(&t, nullptr, run, nullptr);
	pthread_join(t, nullptr);
	puts("done");
	HOST_END();
}
