/* SPDX-License-Identifier: BSD-3-Clause */
/* An alternate stack that is there for handlers which never come: made read-only, unmapped or
 * mapped anew while it is registered.
 *
 *   host read-only | unmapped | fixed | moved | by-number | bad-pointers | by-another
 *   host before-start PROFILE
 *
 * With bad-pointers the stack is set by a call that fails after the change, because the kernel
 * can't write the old stack. Bad pointers are given to sigaltstack in the other cases, too.
 */
#include "host.h"

#include <dlfcn.h>
#include <sched.h>

#include "cprof.h"

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

/* Not mapped, and mapped but not writable. musl itself looks at what it is given, and faults. */
#define BAD ((void *)8)
#ifdef __GLIBC__
#define KERNEL_LOOKS true
#else
#define KERNEL_LOOKS false
#endif
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

	if (KERNEL_LOOKS) {
		REFUSED(sigaltstack(BAD, NULL), EFAULT);
		REFUSED(sigaltstack(BAD, &now), EFAULT);
	}
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
	if (KERNEL_LOOKS)
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
#define OWNERS 12

static struct owner {
	char *stack;
	pthread_t thread;
	int there;
} owners[OWNERS];
static int over;

static void nothing(int sig)
{
}

/* Is in a handler on its alternate stack, or on the way there or back, most of the time. */
static void *own(void *arg)
{
	struct owner *o = arg;
	stack_t ss = { .ss_sp = o->stack, .ss_size = SMALL };

	EXPECT(sigaltstack(&ss, NULL) == 0);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		syscall(SYS_tkill, gettid(), SIGHUP);
		__atomic_store_n(&o->there, 1, __ATOMIC_RELAXED);
	}
	if (o == owners)
		after_change();
	return arg;
}

static void begin_owner(struct owner *o)
{
	o->stack = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(o->stack != MAP_FAILED);
	EXPECT(pthread_create(&o->thread, NULL, own, o) == 0);
	while (!__atomic_load_n(&o->there, __ATOMIC_RELAXED))
		usleep(100);
}

static void end_owners(struct owner *last)
{
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (struct owner *o = owners; o <= last; o++)
		EXPECT(pthread_join(o->thread, NULL) == 0);
}

static void set_handlers(void)
{
	struct sigaction act = { .sa_handler = nothing };

	EXPECT(sigaction(SIGSEGV, &act, NULL) == 0);
	act.sa_flags = SA_ONSTACK;
	EXPECT(sigaction(SIGHUP, &act, NULL) == 0);
}

/* Another thread makes the stacks read-only, of the first one only the upper half, for good. A
 * signal that comes meanwhile is a SIGSEGV; no handler of the program writes there. All threads
 * share a processor, so an owner may stand still for long at any place. */
static void by_another(void)
{
	cpu_set_t one;
	size_t lower;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	EXPECT(sched_setaffinity(0, sizeof(one), &one) == 0);
	set_handlers();
	before_change();
	for (struct owner *o = owners; o < owners + OWNERS; o++)
		begin_owner(o);
	for (struct owner *o = owners; o < owners + OWNERS; o++) {
		lower = o == owners ? SMALL / 2 : 0;
		EXPECT(mprotect(o->stack + lower, SMALL - lower, PROT_READ) == 0);
		usleep(5000);
		if (o > owners)
			EXPECT(mprotect(o->stack, SMALL, PROT_READ | PROT_WRITE) == 0);
	}
	end_owners(&owners[OWNERS - 1]);
}

/* The profile begins only after another thread has made the stack read-only. */
static void before_start(const char *path)
{
	struct cprof_options o = CPROF_OPTIONS_INIT;
	__typeof__(cprof_start) *start;

	*(void **)&start = dlsym(RTLD_DEFAULT, "cprof_start");
	o.cpu_path = path;
	o.frequency = 1000;
	set_handlers();
	begin_owner(owners);
	EXPECT(mprotect(owners->stack, SMALL, PROT_READ) == 0);
	EXPECT(!start || start(&o) == 0);
	end_owners(owners);
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 2)
		return 2;
	how = argv[1];
	if (!strcmp(how, "by-another")) {
		by_another();
	} else if (argc > 2) {
		before_start(argv[2]);
	} else {
		pthread_create(&t, NULL, run, NULL);
		pthread_join(t, NULL);
		run(NULL);
	}
	puts("done");
	HOST_END();
}
