/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows what is mapped where, because it is alone in its address space. It leaves
 * holes of all sizes between its pages, works (samples, waits for locks, allocates, has threads),
 * and then uses the holes: it reads there and expects a fault, maps and attaches memory there, lets
 * a stack grow into one, and unmaps all of them once more. It does so in fork children as well.
 *
 *   holes pages       all of that, but for the stack
 *   holes stack       one hole, into which a stack grows
 */
#include <malloc.h>
#include <setjmp.h>
#include <sys/shm.h>

#include "host.h"

#define PAGE ((size_t)4096)
#define HOLES_MAX 40
/* The kernel keeps that much clear below a stack that grows, and the limit of a stack is 8 MiB. */
#define GUARD (257 * PAGE)
#define STACK_ROOM ((size_t)4 << 20)

static struct hole {
	char *at;
	size_t size;
} holes[HOLES_MAX];
static int count;
static char *stack_end; /* of a stack that grows: its only page begins here */
static sigjmp_buf after_fault;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char thread_stacks[2][256 << 10] __attribute__((aligned(4096)));
static int shared = -1;

static void on_fault(int sig)
{
	siglongjmp(after_fault, sig);
}

static bool touch(volatile char *p, bool write)
{
	if (sigsetjmp(after_fault, 1))
		return false;
	if (write)
		*p = 1;
	else
		(void)*p;
	return true;
}

static char *map(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED);
	return p;
}

/* Pages of the program stay below and above each. */
static void make_holes(void)
{
	char *p;

	for (int i = 0; i < HOLES_MAX; i++) {
		holes[i].size = PAGE << (i % 10);
		p = map(holes[i].size + 2 * PAGE);
		holes[i].at = p + PAGE;
		p[0] = p[holes[i].size + PAGE] = 1;
	}
	/* All are mapped by this time: none is made in another. */
	for (; count < HOLES_MAX; count++)
		EXPECT(munmap(holes[count].at, holes[count].size) == 0);
}

static void make_stack(void)
{
	char *p = map(STACK_ROOM + 2 * PAGE);

	stack_end = p + STACK_ROOM;
	EXPECT(munmap(p + PAGE, STACK_ROOM) == 0);
	EXPECT(mmap(stack_end, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0) == stack_end);
}

static void *use_locks_and_memory(void *unused)
{
	double end = host_clock(CLOCK_THREAD_CPUTIME_ID) + 0.02;

	do {
		void *p = malloc(3000), *q;

		pthread_mutex_lock(&mutex);
		burn(0.0002);
		q = malloc(2000);
		pthread_mutex_unlock(&mutex);
		free(p);
		free(q);
	} while (host_clock(CLOCK_THREAD_CPUTIME_ID) < end);
	return unused;
}

/* Without a mapping by libc: threads have stacks from this program, malloc has one arena. */
static void work(void)
{
	pthread_t threads[2];
	pthread_attr_t attr;

	for (int i = 0; i < 2; i++) {
		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, thread_stacks[i], sizeof(thread_stacks[i]));
		EXPECT(pthread_create(&threads[i], &attr, use_locks_and_memory, NULL) == 0);
		pthread_attr_destroy(&attr);
	}
	use_locks_and_memory(NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	usleep(20000);
}

/* Of all pages, those that aren't as the program left them. */
static void count_mapped(void)
{
	int readable = 0, taken = 0, unattachable = 0;
	char *got;

	for (int i = 0; i < count; i++)
		for (char *p = holes[i].at; p < holes[i].at + holes[i].size; p += PAGE) {
			readable += touch(p, false);
			got = mmap(p, PAGE, PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			if (got == p)
				munmap(p, PAGE);
			else
				taken++;
			got = shared < 0 ? p : shmat(shared, p, 0);
			unattachable += got != p;
			if (shared >= 0 && got == p)
				shmdt(p);
		}
	printf("%d pages of holes can be read, %d not mapped, %d not attached\n", readable, taken,
	       unattachable);
}

static void grow_stack(void)
{
	size_t grown = 0;

	while (grown < STACK_ROOM - PAGE - GUARD && touch(stack_end - grown - PAGE, true))
		grown += PAGE;
	printf("a stack grows by %zu pages\n", grown / PAGE);
}

static void use_holes(void)
{
	work();
	if (stack_end)
		grow_stack();
	else
		count_mapped();
	for (int i = 0; i < count; i++)
		EXPECT(munmap(holes[i].at, holes[i].size) == 0);
	work();
	puts("alive");
	fflush(stdout);
}

static void in_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		use_holes();
		exit(host_failures ? 1 : 0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_fault };

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	shared = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	if (argc > 1 && !strcmp(argv[1], "stack"))
		make_stack();
	else
		make_holes();
	in_child();
	use_holes();
	if (shared >= 0)
		shmctl(shared, IPC_RMID, NULL);
	HOST_END();
}
