/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a loop made at run time. Usage: jit-host anon|shared|jumped|memfd|named PATH [NAME]; NAME is
 * announced in /tmp/perf-PID.map, which whoever started this removes. jumped: the loop's function
 * is called as Java's interpreter does it: a return address is pushed, and the function jumped to.
 */
#include "tick.h"

#define SIZE 65536

/* Counts its argument down to zero. */
static const unsigned char loop[] = {
#if defined(__x86_64__)
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,	  /* jnz 1b */
	0xc3,		  /* ret */
#elif defined(__aarch64__)
	0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne 1b */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

/* At 0x200 of the mapping, what calls the loop of the same layout at 0x100. */
static const unsigned char jumped_to[] = {
#if defined(__x86_64__)
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,	  /* jnz 1b */
	0x5d, 0xc3,	  /* pop %rbp; ret */
#endif
};
static const unsigned char jumps[] = {
#if defined(__x86_64__)
	0x55,				    /* push %rbp */
	0x48, 0x89, 0xe5,		    /* mov %rsp,%rbp */
	0x48, 0x8d, 0x05, 0x06, 0,    0, 0, /* lea 1f(%rip),%rax */
	0x50,				    /* push %rax */
	0xe9, 0xef, 0xfe, 0xff, 0xff,	    /* jmp to 0x100 */
	0x5d, 0xc3,			    /* 1: pop %rbp; ret */
#endif
};

static int backing(const char *kind, const char *path)
{
	if (!strcmp(kind, "memfd"))
		return memfd_create("jit code", MFD_CLOEXEC);
	if (!strcmp(kind, "named"))
		return open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	return -1;
}

static void *map_code(int fd, bool shared, bool jumped)
{
	char *code;

	if (fd >= 0 && ftruncate(fd, SIZE))
		return MAP_FAILED;
	code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		    (shared ? MAP_SHARED : MAP_PRIVATE) | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (code == MAP_FAILED)
		return code;
	/* Not at the start: 0x100 into the mapping. */
	memcpy(code + 0x100, jumped ? jumped_to : loop, jumped ? sizeof(jumped_to) : sizeof(loop));
	memcpy(code + 0x200, jumps, sizeof(jumps));
	__builtin___clear_cache(code, code + SIZE);
	if (mprotect(code, SIZE, PROT_READ | PROT_EXEC))
		return MAP_FAILED;
	return code + (jumped ? 0x200 : 0x100);
}

static void announce(const char *code, const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		return;
	/* Some runtimes write a 0x before them. */
	fprintf(f, "%#lx %#zx %s\n", (unsigned long)code, sizeof(loop), name);
	fclose(f);
	puts(path);
}

__attribute__((noinline)) void run(void (*code)(unsigned long), double seconds);

__attribute__((noinline)) void run(void (*code)(unsigned long), double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	struct host_tick tick = {};

	do
		code(5000000);
	while (clock() < end || !host_ticked(&tick));
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? backing(argv[1], argv[2]) : -1;
	bool jumped = argc > 1 && !strcmp(argv[1], "jumped");
	void *code;

	if (jumped && sizeof(jumps) == 0) {
		fprintf(stderr, "not for this processor\n");
		return 77;
	}
	code = map_code(fd, fd >= 0 || !strcmp(argv[1], "shared"), jumped);
	if (code == MAP_FAILED) {
		perror("mmap");
		return 77;
	}
	if (fd >= 0)
		close(fd);
	if (argc > 3)
		announce(code, argv[3]);
	run((void (*)(unsigned long))code, 0.2);
	return 0;
}
