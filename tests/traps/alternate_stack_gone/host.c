/* SPDX-License-Identifier: BSD-3-Clause */
/* An alternate stack that is there for handlers which never come: made read-only, unmapped or
 * mapped anew while it is registered.
 *
 *   host read-only | unmapped | fixed | moved | by-number | bad-pointers | by-another
 *
 * With bad-pointers the stack is set by a call that fails after the change, because the kernel
 * can't write the old stack. Bad pointers are given to sigaltstack in the other cases, too.
 */
#include "host.h"

#define SIZE ((size_t)262144)

static const char *how;

__attribute__((noinline)) static void before_change(void)
{
	burn(0.1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void after_change(void)
{
	burn(0.2);
	__asm__ volatile("");
}

static void change(char *stack)
{
	if (!strcmp(how, "read-only"))
		EXPECT(mprotect(stack, SIZE, PROT_READ) == 0);
	else if (!strcmp(how, "unmapped"))
		EXPECT(munmap(stack, SIZE) == 0);
	else if (!strcmp(how, "fixed"))
		EXPECT(mmap(stack, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			    0) == stack);
	else if (!strcmp(how, "moved"))
		EXPECT(mremap(stack, SIZE, 2 * SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
			      stack + 2 * SIZE) == stack + 2 * SIZE);
	else
		EXPECT(syscall(SYS_mprotect, stack, SIZE, PROT_NONE) == 0);
}

/* Not mapped, and mapped but not writable. */
#define BAD ((void *)8)
static const stack_t read_only = { .ss_size = SIZE };

#define REFUSED(call, error)                                                                       \
	do {                                                                                       \
		errno = 0;                                                                         \
		EXPECT((call) == -1 && errno == (error));                                          \
	} while (0)

static void refuse_bad_pointers(void)
{
	stack_t *constant = (stack_t *)(uintptr_t)&read_only;
	stack_t now = { .ss_size = 1 };

	REFUSED(sigaltstack(BAD, NULL), EFAULT);
	REFUSED(sigaltstack(BAD, &now), EFAULT);
	REFUSED(syscall(SYS_sigaltstack, BAD, NULL), EFAULT);
	REFUSED(sigaltstack(NULL, BAD), EFAULT);
	REFUSED(sigaltstack(NULL, constant), EFAULT);
	EXPECT(now.ss_size == 1);
}

static volatile uintptr_t handler_at;

static void on_signal(int sig)
{
	stack_t another = { .ss_sp = &another, .ss_size = SIZE };

	handler_at = (uintptr_t)&another;
	REFUSED(sigaltstack(&another, NULL), EPERM);
	REFUSED(sigaltstack(BAD, NULL), EFAULT);
	refuse_bad_pointers();
}

/* It can be written to again, so handlers run there. */
static void bring_back(char *stack)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	EXPECT(mprotect(stack, SIZE, PROT_READ | PROT_WRITE) == 0);
	EXPECT(sigaction(SIGUSR1, &act, NULL) == 0);
	handler_at = 0;
	raise(SIGUSR1);
	EXPECT(handler_at - (uintptr_t)stack < SIZE);
	after_change();
}

static void *run(void *arg)
{
	/* Room after it, to move to. */
	char *stack =
		mmap(NULL, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t ss = { .ss_sp = stack, .ss_size = SIZE }, now;

	EXPECT(stack != MAP_FAILED);
	if (!strcmp(how, "bad-pointers"))
		REFUSED(sigaltstack(&ss, BAD), EFAULT);
	else
		EXPECT(sigaltstack(&ss, NULL) == 0);
	refuse_bad_pointers();
	before_change();
	change(stack);
	after_change();
	refuse_bad_pointers();
	EXPECT(sigaltstack(NULL, &now) == 0);
	EXPECT(now.ss_sp == stack && now.ss_size == SIZE && now.ss_flags == 0);
	if (!strcmp(how, "read-only"))
		bring_back(stack);
	/* One object for both: the kernel reads it before it writes. */
	now.ss_sp = stack + SIZE;
	EXPECT(syscall(SYS_sigaltstack, &now, &now) == 0 && now.ss_sp == stack);
	EXPECT(sigaltstack(NULL, &now) == 0 && now.ss_sp == stack + SIZE);
	return arg;
}

#define SMALL ((size_t)65536)
static char contested[SMALL] __attribute__((aligned(65536)));
static int over;

/* Another thread makes the stack read-only and writable again. A signal that comes meanwhile is a
 * SIGSEGV; no handler of the program writes there. */
static void *contest(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		EXPECT(mprotect(contested, SMALL, PROT_READ) == 0);
		EXPECT(mprotect(contested, SMALL, PROT_READ | PROT_WRITE) == 0);
	}
	return arg;
}

static void nothing(int sig)
{
}

static void by_another(void)
{
	struct sigaction act = { .sa_handler = nothing };
	stack_t ss = { .ss_sp = contested, .ss_size = SMALL };
	pthread_t t;

	EXPECT(sigaction(SIGSEGV, &act, NULL) == 0);
	EXPECT(sigaltstack(&ss, NULL) == 0);
	act.sa_flags = SA_ONSTACK;
	EXPECT(sigaction(SIGHUP, &act, NULL) == 0);
	before_change();
	EXPECT(pthread_create(&t, NULL, contest, NULL) == 0);
	for (int i = 0; i < 8000; i++)
		syscall(SYS_tkill, gettid(), SIGHUP);
	after_change();
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	EXPECT(pthread_join(t, NULL) == 0);
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 2)
		return 2;
	how = argv[1];
	if (!strcmp(how, "by-another")) {
		by_another();
		puts("done");
		HOST_END();
	}
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	run(NULL);
	puts("done");
	HOST_END();
}
