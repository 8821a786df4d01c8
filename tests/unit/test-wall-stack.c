/* SPDX-License-Identifier: BSD-3-Clause */
/* A waiting thread's stack, walked from outside, is what a handler on that thread finds.
 *
 * Every call that waits, under every kind of caller: without a frame pointer, with one, with a
 * stack that alloca moved, and deep down. The wrappers of system calls keep the frame pointer in
 * its register, which can't be seen from outside.
 */
#define OWN_MAIN
#include "harness.h"

#include <alloca.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <ucontext.h>

#include "base/atomic.h"
#include "base/base.h"
#include "base/sys.h"
#include "sample/sample.h"
#include "modes/wall/wall.h"
#include "tasks.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define DEPTH 600

#ifdef __SANITIZE_ADDRESS__
static volatile bool sanitized = true;
#else
static volatile bool sanitized;
#endif
static volatile int sink;

static int pipes[2], sockets[2], epoll;
static sem_t semaphore;
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static char byte;
static struct pollfd polled = { .events = POLLIN };
static struct epoll_event event;
static const struct timespec long_time = { 1000, 0 };
static uint32_t word;

#define IN(name, call)                                                                             \
	static void in_##name(void)                                                                \
	{                                                                                          \
		sink += (int)(call);                                                               \
	}
IN(read, read(pipes[0], &byte, 1))
IN(recv, recv(sockets[0], &byte, 1, 0))
IN(poll, poll(&polled, 1, -1))
IN(select, select(0, NULL, NULL, NULL, NULL))
IN(epoll, epoll_wait(epoll, &event, 1, -1))
IN(nanosleep, nanosleep(&long_time, NULL))
IN(pause, pause())
IN(sem_wait, sem_wait(&semaphore))
IN(mutex, pthread_mutex_lock(&taken))
IN(syscall, syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL))

static void in_cond_wait(void)
{
	pthread_mutex_lock(&lock);
	sink += pthread_cond_wait(&condition, &lock);
	pthread_mutex_unlock(&lock);
}

static void on_usr2(int sig)
{
	in_read();
}

static void in_handler(void)
{
	raise(SIGUSR2);
}

static void (*const calls[])(void) = { in_read,	 in_recv,      in_poll,	   in_select,
				       in_epoll, in_nanosleep, in_pause,   in_sem_wait,
				       in_mutex, in_cond_wait, in_syscall, in_handler };
#define CALLS (sizeof(calls) / sizeof(*calls))

struct sleeper {
	pthread_t thread;
	void (*call)(void);
	void (*chain)(struct sleeper *s, unsigned depth);
	int tid;
	uint32_t walked;
	struct {
		unsigned n;
		enum cp_unwind_end end;
		uint64_t pcs[DEPTH];
	} inside;
};

static __thread struct sleeper *self;

static NOINLINE void plain(struct sleeper *s, unsigned depth)
{
	if (depth)
		plain(s, depth - 1);
	else
		s->call();
	sink++;
}

static NOINLINE void framed(struct sleeper *s, unsigned depth)
{
	sink += __builtin_frame_address(0) != NULL;
	if (depth)
		framed(s, depth - 1);
	else
		s->call();
	sink++;
}

static NOINLINE void moving(struct sleeper *s, unsigned depth)
{
	volatile char *room = alloca(100 + 16 * (depth + (unsigned)sink % 2));

	room[0] = 1;
	if (depth)
		moving(s, depth - 1);
	else
		s->call();
	sink += room[0];
}

static NOINLINE void mixed(struct sleeper *s, unsigned depth)
{
	if (depth)
		mixed(s, depth - 1);
	else
		moving(s, 1);
	framed(s, 0);
}

static void (*const chains[])(struct sleeper *, unsigned) = { plain, framed, moving, mixed };
#define CHAINS (sizeof(chains) / sizeof(*chains))

static void walk_inside(int sig, siginfo_t *si, void *context)
{
	int saved = errno;
	struct cp_unwind_input in = { .stable_modules = true, .own_tls = true };

	cp_regs_of_context(&in.regs, context);
	self->inside.n = cp_unwinder_dwarf.walk(&in, self->inside.pcs, DEPTH, &self->inside.end);
	cp_store_release(&self->walked, 1);
	errno = saved;
}

static void *sleeper(void *arg)
{
	struct sleeper *s = arg;

	self = s;
	cp_store_release(&s->tid, (int)syscall(SYS_gettid));
	for (;;)
		s->chain(s, 3);
	return NULL;
}

static void moment(void)
{
	struct timespec t = { 0, 500000 };

	nanosleep(&t, NULL);
}

static struct cp_record *outside;
static struct cp_wall_call waits_in;

/* Until it waits where it will stay. */
static bool looked(const struct sleeper *s)
{
	uint64_t clock = 0, before;

	for (int i = 0; i < 10000; i++) {
		before = clock;
		moment();
		if (cp_load_acquire(&s->tid) &&
		    cp_wall_stack_look(s->tid, outside, DEPTH, &clock, &waits_in) ==
			    CP_WALL_WAITS &&
		    clock == before)
			return true;
	}
	return false;
}

static bool same(const struct sleeper *s)
{
	/* A call that is restarted is at its instruction again. */
	uint64_t leaf = outside->pcs[0] - s->inside.pcs[0];

	return outside->depth == s->inside.n && outside->end == s->inside.end &&
	       (leaf == 0 || leaf <= 4) &&
	       memcmp(outside->pcs + 1, s->inside.pcs + 1, (s->inside.n - 1) * 8) == 0;
}

static bool agrees(void (*call)(void), void (*chain)(struct sleeper *, unsigned))
{
	struct sleeper *s = calloc(1, sizeof(*s)); /* its thread stays */
	bool ok;

	s->call = call;
	s->chain = chain;
	pthread_create(&s->thread, NULL, sleeper, s);
	if (!looked(s))
		return false;
	pthread_kill(s->thread, SIGUSR1);
	while (!cp_load_acquire(&s->walked))
		moment();
	ok = same(s) && outside->end == CP_UNWIND_COMPLETE && outside->depth > 5;
	for (unsigned i = 0; !ok && i < outside->depth; i++)
		printf("# outside %#llx\n", (long long)outside->pcs[i]);
	for (unsigned i = 0; !ok && i < s->inside.n; i++)
		printf("# inside  %#llx\n", (long long)s->inside.pcs[i]);
	return ok;
}

TEST(test_waiting_threads_are_walked_as_from_inside)
{
#ifdef __x86_64__
	if (sanitized)
		SKIP("the sanitizer's functions stand between these calls and libc's");
	for (size_t i = 0; i < CALLS; i++)
		for (size_t j = 0; j < CHAINS; j++)
			if (!agrees(calls[i], chains[j])) {
				printf("# call %zu, chain %zu\n", i, j);
				CHECK(false);
			}
#else
	SKIP("a return address that is still in its register can't be seen from outside");
#endif
}

static uint32_t stop;

static void *spin(void *arg)
{
	cp_store_release((int *)arg, (int)syscall(SYS_gettid));
	while (!cp_load_relaxed(&stop))
		;
	return NULL;
}

TEST(test_a_running_thread_is_not_walked)
{
	pthread_t thread;
	enum cp_wall_doing doing;
	uint64_t clock;
	int tid = 0;

	pthread_create(&thread, NULL, spin, &tid);
	while (!cp_load_acquire(&tid))
		moment();
	doing = cp_wall_stack_look(tid, outside, DEPTH, &clock, &waits_in);
	/* Other programs may have its processor. */
	CHECK(doing == CP_WALL_RUNS || doing == CP_WALL_QUEUES);
	cp_store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		moment();
	CHECK_EQ(cp_wall_stack_look(tid, outside, DEPTH, &clock, &waits_in), CP_WALL_ENDED);
	CHECK_EQ(cp_wall_stack_clock_of(tid), UINT64_MAX);
}

TEST(test_copied_words_end_where_the_mapping_ends)
{
	const size_t page = cp_pages_kernel();
	unsigned char *p =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cp_stackcopy c;
	uint64_t base = (uint64_t)p, w = 7;

	mprotect(p, page, PROT_NONE);
	mprotect(p + 2 * page, page, PROT_NONE);
	memset(p + page, 3, page);
	cp_stackcopy_begin(&c);
	CHECK(!cp_stackcopy_read(&c, base + page - 8, &w) && w == 7);
	CHECK(cp_stackcopy_read(&c, base + page, &w) && w == UINT64_C(0x0303030303030303));
	CHECK(cp_stackcopy_read(&c, base + 2 * page - 8, &w));
	CHECK(!cp_stackcopy_read(&c, base + 2 * page - 7, &w));
	CHECK(!cp_stackcopy_read(&c, 0, &w));
	CHECK(!cp_stackcopy_read(&c, UINT64_MAX - 3, &w));
	/* Where the copying call is denied, /proc serves. */
	c.denied = true;
	c.size = 0;
	CHECK(cp_stackcopy_read(&c, base + 2 * page - 8, &w));
	CHECK(c.mem >= 0);
	cp_stackcopy_end(&c);
	munmap(p, 3 * page);
}

static void *copy_after_main(void *arg)
{
	uint64_t here = 5, w = 7;
	struct cp_stackcopy c;

	while (task_state(getpid()) != 'Z')
		moment();
	cp_stackcopy_begin(&c);
	_exit(cp_stackcopy_read(&c, (uint64_t)&here, &w) && w == here && !c.denied ? 0 : 1);
	return arg;
}

/* The process's id is main's, which has no memory then. */
TEST(test_words_are_copied_when_main_has_ended)
{
	int status = -1;
	pthread_t thread;
	pid_t pid = fork();

	if (!pid) {
		if (pthread_create(&thread, NULL, copy_after_main, NULL))
			_exit(2);
		pthread_exit(NULL);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	struct sigaction act = { .sa_sigaction = walk_inside, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction usr2 = { .sa_handler = on_usr2 };

	outside = calloc(1, sizeof(*outside) + DEPTH * 8);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &usr2, NULL);
	sink += pipe(pipes) + socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
	polled.fd = pipes[0];
	epoll = epoll_create1(0);
	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&taken);
	cp_unwinder_dwarf.prepare();
	harness_all();
	return harness_end();
}
