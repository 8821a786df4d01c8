/* Runs a loop made at run time. Usage: jit-host anon|memfd|named PATH [NAME]; NAME is announced in
 * /tmp/perf-PID.map, which whoever started this removes. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

static int backing(const char *kind, const char *path)
{
	if (!strcmp(kind, "memfd"))
		return memfd_create("jit code", MFD_CLOEXEC);
	if (!strcmp(kind, "named"))
		return open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	return -1;
}

static void *map_code(int fd)
{
	char *code;

	if (fd >= 0 && ftruncate(fd, SIZE))
		return MAP_FAILED;
	code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (code == MAP_FAILED)
		return code;
	/* Not at the start: 0x100 into the mapping. */
	memcpy(code + 0x100, loop, sizeof(loop));
	__builtin___clear_cache(code, code + SIZE);
	if (mprotect(code, SIZE, PROT_READ | PROT_EXEC))
		return MAP_FAILED;
	return code + 0x100;
}

static void announce(const char *code, const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "%lx %zx %s\n", (unsigned long)code, sizeof(loop), name);
	fclose(f);
	puts(path);
}

__attribute__((noinline)) void run(void (*code)(unsigned long), double seconds);

__attribute__((noinline)) void run(void (*code)(unsigned long), double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	do
		code(1000000);
	while (clock() < end);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? backing(argv[1], argv[2]) : -1;
	void *code = map_code(fd);

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
