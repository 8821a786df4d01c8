/* SPDX-License-Identifier: BSD-3-Clause */
// All at once, for a while: C++ exceptions, dlopen and dlclose, dl_iterate_phdr, deep recursion,
// longjmp, coroutines, handlers on alternate stacks, short threads. Usage: storm-host SECONDS
// MODULE... (storm-module.c, named x.so); SECONDS 0: until the input ends
//
// Each part burns its time in a function x_burn that only one function calls, so that the profile
// can be checked, and goes on after SECONDS until it has burnt so much that it must have been
// sampled, however busy the machine is. At the end one line says how often each part came round.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <link.h>
#include <stdexcept>
#include <string>
#include <ucontext.h>
#include <vector>

#include "host.h"

#define NOINLINE extern "C" __attribute__((noinline, noclone))
#define BURNS(name)                                                                                \
	static std::atomic<long> name##_burnt;                                                     \
	NOINLINE long name##_burn(long n)                                                          \
	{                                                                                          \
		volatile long sum = 0;                                                             \
                                                                                                   \
		name##_burnt += n;                                                                 \
		for (long i = 0; i < n; i++)                                                       \
			sum += i * i;                                                              \
		return sum;                                                                        \
	}

// CPU time that a part must have burnt: 30 ticks of a kernel that has 250 a second.
#define BURNT_SECONDS 0.12

static std::atomic<bool> over;
static long enough;
static volatile long sink;

static void fail(const char *what)
{
	std::printf("FAILED: %s\n", what);
	std::fflush(stdout);
	_exit(1);
}

// ---- exceptions ----
struct guard {
	long &count;
	~guard()
	{
		count++;
	}
};

BURNS(throw)
NOINLINE long throw_deep(int depth, long &count)
{
	guard g{ count };
	if (depth == 0) {
		sink = throw_burn(3000);
		throw std::runtime_error("thrown");
	}
	return throw_deep(depth - 1, count) + 1;
}

static long throwing()
{
	for (int depth = 0; depth < 20; depth++) {
		long count = 0;
		try {
			throw_deep(depth, count);
			fail("nothing was thrown");
		} catch (const std::runtime_error &) {
			if (count != depth + 1)
				fail("a destructor was left out");
		}
	}
	return 20;
}

// ---- modules ----
static std::vector<std::string> modules;
static std::atomic<long> modules_burnt; // of the first; others come round as often

static long loading(unsigned which)
{
	const std::string &path = modules[which % modules.size()];
	void *lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
	size_t slash = path.rfind('/') + 1;
	std::string name = path.substr(slash, path.rfind('.') - slash) + "_entry";
	long (*entry)(long) =
		lib ? reinterpret_cast<long (*)(long)>(dlsym(lib, name.c_str())) : nullptr;

	if (!entry)
		fail(dlerror());
	sink = entry(4000000);
	if (which % modules.size() == 0)
		modules_burnt += 4000000;
	dlclose(lib);
	return 1;
}

BURNS(phdr)
NOINLINE int phdr_callback(dl_phdr_info *, size_t, void *n)
{
	sink = phdr_burn(200);
	++*static_cast<long *>(n);
	return 0;
}

static long iterating()
{
	long n = 0;

	dl_iterate_phdr(phdr_callback, &n);
	return n;
}

// ---- depth and jumps ----
BURNS(recurse)
NOINLINE long recurse_down(int depth)
{
	volatile char room[64];

	room[depth % 64] = static_cast<char>(depth);
	if (depth == 0)
		return recurse_burn(5000);
	return recurse_down(depth - 1) + room[depth % 64];
}

BURNS(jump)
NOINLINE void jump_inner(jmp_buf *to, int depth)
{
	if (depth == 0) {
		sink = jump_burn(300);
		longjmp(*to, 1);
	}
	if (depth > 0)
		jump_inner(to, depth - 1);
	sink = depth;
}

static long jumping()
{
	for (volatile int depth = 0; depth < 30; depth++) {
		jmp_buf back;

		if (!setjmp(back))
			jump_inner(&back, depth);
	}
	return 30;
}

// ---- coroutines ----
#define COROUTINES 4
struct coroutine {
	ucontext_t self, *caller;
	long turns;
	char stack[48 << 10];
};

BURNS(coroutine)
NOINLINE void coroutine_turn(coroutine *c)
{
	sink = coroutine_burn(500);
	c->turns++;
	swapcontext(&c->self, c->caller);
	sink = c->turns;
}

static void coroutine_main(unsigned high, unsigned low)
{
	coroutine *c = reinterpret_cast<coroutine *>(static_cast<uintptr_t>(high) << 32 | low);

	for (;;)
		coroutine_turn(c);
}

static long switching()
{
	static thread_local coroutine *all;
	ucontext_t here;

	if (!all) {
		all = new coroutine[COROUTINES];
		for (int i = 0; i < COROUTINES; i++) {
			uintptr_t p = reinterpret_cast<uintptr_t>(&all[i]);

			getcontext(&all[i].self);
			all[i].self.uc_stack.ss_sp = all[i].stack;
			all[i].self.uc_stack.ss_size = sizeof(all[i].stack);
			all[i].self.uc_link = nullptr;
			makecontext(&all[i].self, reinterpret_cast<void (*)()>(coroutine_main), 2,
				    static_cast<unsigned>(p >> 32), static_cast<unsigned>(p));
		}
	}
	for (int i = 0; i < COROUTINES; i++) {
		all[i].caller = &here;
		swapcontext(&here, &all[i].self);
	}
	return COROUTINES;
}

// ---- handlers ----
BURNS(handler)
static void on_signal(int, siginfo_t *, void *)
{
	sink = handler_burn(1000);
	sink = 1;
}

static long handling()
{
	static thread_local char room[32 << 10];
	static thread_local bool set;

	if (!set) {
		stack_t ss = {};

		ss.ss_sp = room;
		ss.ss_size = sizeof(room);
		if (sigaltstack(&ss, nullptr))
			fail("sigaltstack");
		set = true;
	}
	pthread_kill(pthread_self(), SIGUSR1);
	return 1;
}

// ---- threads ----
// Seven of eight live so shortly that a timer of the kernel's tick hardly sees them.
BURNS(churn)
static void *churn_thread(void *n)
{
	sink = churn_burn(100000);
	return n;
}

BURNS(last)
static void *last_thread(void *n)
{
	sink = last_burn(20000000);
	return n;
}

static long churning()
{
	pthread_t threads[8];
	void *result;

	for (auto &t : threads)
		if (pthread_create(&t, nullptr, &t == &threads[7] ? last_thread : churn_thread,
				   threads))
			fail("pthread_create");
	for (auto &t : threads)
		if (pthread_join(t, &result) || result != threads)
			fail("pthread_join");
	return 8;
}

// ---- all of them ----
struct part {
	const char *name;
	long (*round)(unsigned);
	std::atomic<long> *burnt; // nullptr: a handler on an alternate stack is not sampled
	std::atomic<long> rounds;
} parts[] = {
	{ "exceptions", [](unsigned) { return throwing(); }, &throw_burnt, {} },
	{ "modules", loading, &modules_burnt, {} },
	{ "iterations", [](unsigned) { return iterating(); }, &phdr_burnt, {} },
	{ "recursions",
	  [](unsigned) {
		  sink = recurse_down(1500);
		  return 1L;
	  },
	  &recurse_burnt,
	  {} },
	{ "jumps", [](unsigned) { return jumping(); }, &jump_burnt, {} },
	{ "switches", [](unsigned) { return switching(); }, &coroutine_burnt, {} },
	{ "handlers", [](unsigned) { return handling(); }, nullptr, {} },
	{ "threads", [](unsigned) { return churning(); }, &last_burnt, {} },
};

// In rounds of the loop that all of them have.
BURNS(calibrate)
static long burnt_enough()
{
	clock_t from = clock();

	sink = calibrate_burn(50000000);
	return static_cast<long>(50000000 * BURNT_SECONDS * CLOCKS_PER_SEC /
				 static_cast<double>(clock() - from));
}

static void *run(void *p)
{
	part *which = static_cast<part *>(p);

	for (unsigned i = 0; !over || (which->burnt && *which->burnt < enough); i++)
		which->rounds += which->round(i);
	return nullptr;
}

int main(int argc, char **argv)
{
	std::vector<pthread_t> threads;
	struct sigaction sa = {};

	enough = burnt_enough();
	if (argc < 3)
		return 3;
	for (int i = 2; i < argc; i++)
		modules.push_back(argv[i]);
	sa.sa_sigaction = on_signal;
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGUSR1, &sa, nullptr);
	for (auto &p : parts) {
		pthread_t t;

		pthread_create(&t, nullptr, run, &p);
		threads.push_back(t);
	}
	double end = std::atoi(argv[1]);
	if (end > 0)
		end += host_clock(CLOCK_MONOTONIC);
	while (host_goes_on(CLOCK_MONOTONIC, end))
		usleep(50000);
	/* On a busy machine a part's first round may take longer; one that hangs ends with the
	 * test. */
	for (auto &p : parts)
		while (!p.rounds)
			usleep(10000);
	over = true;
	for (auto t : threads)
		pthread_join(t, nullptr);
	for (auto &p : parts) {
		std::printf("%ld %s, ", p.rounds.load(), p.name);
		if (!p.rounds)
			fail("a part never came round");
	}
	std::puts("done");
	return 0;
}
