/* SPDX-License-Identifier: BSD-3-Clause */
/* Is the lock free while the stack of who has unlocked it is taken? The walk is held in its midst.
 *
 * The one who holds the lock unlocks it deep in its stack, of which it has just taken a page away;
 * another thread (userfaultfd) fills it in again when it is read: by whoever takes the stack.
 * Meanwhile the lock's waiter has got it, or not. Says which, and when the page was read.
 */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "clock.h"
#include "host.h"
#include "mutex_word.h"

#define DEPTH 24
#define WHILE_MS 3000
#define STACK_BYTES ((size_t)512 << 10)

#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t there;
static int uffd, waiter_has_it, unlocked, done;
static char *gone, *stack;
static char copy[4096] __attribute__((aligned(4096)));

static void give_up(const char *why)
{
	fprintf(stderr, "%s: %s\n", why, strerror(errno));
	_exit(77);
}

static void *wait_for_it(void *arg)
{
	pthread_barrier_wait(&there);
	pthread_mutex_lock(&lock);
	SET(waiter_has_it, 1);
	pthread_mutex_unlock(&lock);
	return arg;
}

/* Frames of the callers, which are needed only when they go on. */
static void take_away(void)
{
	struct uffdio_register page = { { 0, 4096 }, UFFDIO_REGISTER_MODE_MISSING, 0 };
	char here;

	gone = (char *)(((uintptr_t)&here & ~(uintptr_t)4095) + 2 * 4096);
	if (gone + 4096 > stack + STACK_BYTES) {
		puts("the stack is too small");
		exit(1);
	}
	memcpy(copy, gone, sizeof(copy));
	page.range.start = (uintptr_t)gone;
	if (ioctl(uffd, UFFDIO_REGISTER, &page) || madvise(gone, 4096, MADV_DONTNEED))
		give_up("userfaultfd's register");
}

__attribute__((noinline)) static void bottom(void)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&there);
	while (!mutex_is_awaited(&lock))
		nap(1000000);
	take_away();
	pthread_mutex_unlock(&lock);
	SET(unlocked, 1);
}

__attribute__((noinline)) static int descend(int n)
{
	volatile char frame[1024];

	/* All of it is there, whatever of it is used. */
	__asm__ volatile("" : : "r"(frame) : "memory");
	frame[0] = (char)n;
	if (n)
		return descend(n - 1) + frame[0];
	bottom();
	return frame[0];
}

static void *hold(void *arg)
{
	*(int *)arg = descend(DEPTH);
	return NULL;
}

static void look(void)
{
	if (GET(unlocked)) {
		puts("nobody took the stack");
		return;
	}
	for (int ms = 0; ms < WHILE_MS && !GET(waiter_has_it); ms++)
		nap(1000000);
	puts(GET(waiter_has_it) ? "free while the stack is taken"
				: "held while the stack is taken");
}

static void *answer(void *arg)
{
	struct pollfd p = { uffd, POLLIN, 0 };
	struct uffd_msg m;

	while (!GET(done)) {
		struct uffdio_copy page = { .src = (uintptr_t)copy, .len = 4096 };

		if (poll(&p, 1, 20) <= 0 || read(uffd, &m, sizeof(m)) != sizeof(m) ||
		    m.event != UFFD_EVENT_PAGEFAULT)
			continue;
		look();
		page.dst = (uintptr_t)gone;
		EXPECT(ioctl(uffd, UFFDIO_COPY, &page) == 0);
	}
	return arg;
}

int main(void)
{
	struct uffdio_api api = { UFFD_API, 0, 0 };
	pthread_t holder, waiter, monitor;
	pthread_attr_t attr;
	int result = 0;

	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* UFFD_USER_MODE_ONLY */);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		give_up("userfaultfd");
	pthread_barrier_init(&there, NULL, 2);
	pthread_attr_init(&attr);
	EXPECT(pthread_attr_setstack(&attr, stack, STACK_BYTES) == 0);
	pthread_create(&monitor, NULL, answer, NULL);
	pthread_create(&waiter, NULL, wait_for_it, NULL);
	pthread_create(&holder, &attr, hold, &result);
	pthread_join(holder, NULL);
	pthread_join(waiter, NULL);
	SET(done, 1);
	pthread_join(monitor, NULL);
	EXPECT(result == DEPTH * (DEPTH + 1) / 2);
	HOST_END();
}
