/* SPDX-License-Identifier: BSD-3-Clause */
/* A module goes while a handler of another thread reads it: held in the midst of its read.
 *
 *   unload-host MODULE
 *
 * A thread runs code that nothing describes, with an address in the module on its stack as an
 * earlier call may have left it there. A handler that looks for the caller reads the module, to see
 * whether there is a call before that address. The module's pages are such as a thread of ours
 * (userfaultfd) fills in: when that thread's read comes, it has another one unload the module, and
 * lets the read go on when that came back or has taken a while. Prints which of the two it was.
 */
#include <link.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "tick.h"

#define PAGES 16
#define CODE_SIZE 0x20000
/* An unload that waits for nobody takes a thousandth of this. */
#define WHILE_MS 400

static struct {
	char *start, *copy;
	size_t size;
} parts[PAGES];
static int n_parts, uffd;
static void *module;
static const void *inside; /* just after a call, in the module */
static int dark_tid;
static int known, held, unloaded, done;
static pthread_barrier_t between;

#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)

static void give_up(const char *why)
{
	fprintf(stderr, "%s: %s\n", why, strerror(errno));
	exit(77);
}

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void remember(void)
{
	inside = __builtin_return_address(0);
}

/* Its parts that are only read. */
static int find_parts(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (info->dlpi_addr != *(ElfW(Addr) *)arg)
		return 0;
	for (int i = 0; i < info->dlpi_phnum && n_parts < PAGES; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)4095;
		uintptr_t end =
			(info->dlpi_addr + p->p_vaddr + p->p_memsz + 4095) & ~(uintptr_t)4095;

		if (p->p_type != PT_LOAD || p->p_flags & PF_W)
			continue;
		parts[n_parts].start = (char *)start;
		parts[n_parts++].size = end - start;
	}
	return 1;
}

/* The same bytes, in pages that aren't there yet. */
static void take_away(int i)
{
	struct uffdio_register all = { { (uintptr_t)parts[i].start, parts[i].size },
				       UFFDIO_REGISTER_MODE_MISSING,
				       0 };

	parts[i].copy = mmap(NULL, parts[i].size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(parts[i].copy, parts[i].start, parts[i].size);
	if (mmap(parts[i].start, parts[i].size, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != parts[i].start ||
	    ioctl(uffd, UFFDIO_REGISTER, &all))
		give_up("userfaultfd's register");
}

/* The page at ADDRESS; nothing where the module is gone. */
static void fill_in(uintptr_t address)
{
	for (int i = 0; i < n_parts; i++) {
		uintptr_t at = (address & ~(uintptr_t)4095) - (uintptr_t)parts[i].start;
		struct uffdio_copy page = { .dst = address & ~(uintptr_t)4095,
					    .src = (uintptr_t)parts[i].copy + at,
					    .len = 4096 };

		if (at >= parts[i].size)
			continue;
		if (ioctl(uffd, UFFDIO_COPY, &page) && page.copy != -EEXIST) {
			struct uffdio_range range = { page.dst, page.len };

			ioctl(uffd, UFFDIO_WAKE, &range);
		}
	}
}

static void hold_back(void)
{
	SET(held, 1);
	for (int ms = 0; ms < WHILE_MS && !GET(unloaded); ms += 10)
		nap(10);
	puts(GET(unloaded) ? "unloaded while it was read" : "waited for");
	fflush(stdout);
}

static void *answer(void *arg)
{
	struct pollfd p = { uffd, POLLIN, 0 };
	struct uffd_msg m;

	while (!GET(done)) {
		if (poll(&p, 1, 50) <= 0 || read(uffd, &m, sizeof(m)) != sizeof(m) ||
		    m.event != UFFD_EVENT_PAGEFAULT)
			continue;
		if ((int)m.arg.pagefault.feat.ptid == dark_tid && !GET(held)) {
			/* Others read on: the unloading itself does. */
			pthread_t t;

			if (pthread_create(&t, NULL, answer, NULL) == 0)
				hold_back();
		}
		fill_in(m.arg.pagefault.address);
	}
	return arg;
}

/* 1: cmpl $0, (%rsi); jz 1b; ret, with (rsp) no return address but what is INSIDE; the real one is
 * above. */
static const unsigned char spin[] = {
	0xff, 0x37,	  /* push (%rdi) */
	0x83, 0x3e, 0x00, /* 1: cmpl $0, (%rsi) */
	0x74, 0xfb,	  /* jz 1b */
	0x58,		  /* pop %rax */
	0xc3,		  /* ret */
};

static void *dark(void *code)
{
	void (*run)(const void **, int *) = (void (*)(const void **, int *))code;

	SET(dark_tid, (int)syscall(SYS_gettid));
	run(&inside, &known);
	pthread_barrier_wait(&between);
	pthread_barrier_wait(&between);
	run(&inside, &done);
	return NULL;
}

/* Memory that could be read once is read without another question. */
static void let_it_be_known(pthread_t reader)
{
	struct host_tick tick = {};
	struct timespec t = { 0 };
	clockid_t clock;

	pthread_getcpuclockid(reader, &clock);
	while (clock_gettime(clock, &t) == 0 && t.tv_nsec < 100000000)
		nap(5);
	tick.of = dark_tid;
	while (!host_ticked(&tick))
		nap(5);
	SET(known, 1);
}

static void open_uffd(void)
{
	struct uffdio_api api = { UFFD_API, UFFD_FEATURE_THREAD_ID, 0 };

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* UFFD_USER_MODE_ONLY */);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		give_up("userfaultfd");
}

int main(int argc, char **argv)
{
#ifndef __x86_64__
	give_up("written for x86_64");
#endif
	/* Larger than the hole that some loaders have between two of their segments: code there
	 * counts as theirs, and is read to its end before a caller is looked for. */
	char *code =
		mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(void (*)(void));
	pthread_t reader, monitor;
	struct link_map *map;

	module = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!module || dlinfo(module, RTLD_DI_LINKMAP, &map))
		return 2;
	*(void **)&call = dlsym(module, "call_back");
	call(remember);
	dl_iterate_phdr(find_parts, &map->l_addr);
	memcpy(code + 0x100, spin, sizeof(spin));
	mprotect(code, CODE_SIZE, PROT_READ | PROT_EXEC);
	open_uffd();
	pthread_barrier_init(&between, NULL, 2);
	pthread_create(&reader, NULL, dark, code + 0x100);
	let_it_be_known(reader);
	pthread_barrier_wait(&between);
	for (int i = 0; i < n_parts; i++)
		take_away(i);
	pthread_create(&monitor, NULL, answer, NULL);
	pthread_barrier_wait(&between);
	for (int ms = 0; ms < 10000 && !GET(held); ms += 10)
		nap(10);
	if (!GET(held))
		puts("nobody read it");
	dlclose(module);
	SET(unloaded, 1);
	SET(done, 1);
	pthread_join(reader, NULL);
	pthread_join(monitor, NULL);
	puts("done");
	return 0;
}
