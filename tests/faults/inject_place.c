/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in the library a system call comes from; see inject.h.
 *
 * The instruction's address decides where the library makes a call itself. If libc makes one for it
 * (a thread, a dlopen), the nearest return address into the library on the stack decides: remains
 * of an earlier call are passed over unless a call instruction precedes the place that they point
 * to.
 */
#include "inject.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "system.h"

#define STACK_LOOK 12288

struct function {
	uint64_t start, end;
	const char *name;
	bool exported;
};

static struct {
	const char *path;
	const uint8_t *file;
	struct function *functions;
	size_t count;
} library;

/* Functions that are not interposed, but run the program's own code below them. */
static const char *const run_program[] = { "cp_threads_entry", "cp_threads_entry_c11" };

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Functions of the library that a program may call, as opposed to interposed functions of libc. */
static bool is_interface(const char *name)
{
	return !strncmp(name, "cprof_", 6) || !strncmp(name, "Profiler", 8) ||
	       strstr(name, "HeapProf");
}

static void take_symbols(const Elf64_Ehdr *e, const Elf64_Shdr *s)
{
	const Elf64_Shdr *sections = (const void *)(library.file + e->e_shoff);
	const Elf64_Sym *symbols = (const void *)(library.file + s->sh_offset);
	const char *names = (const char *)library.file + sections[s->sh_link].sh_offset;
	size_t n = s->sh_size / sizeof(*symbols);

	library.functions = calloc(n, sizeof(*library.functions));
	for (size_t i = 0; library.functions && i < n; i++) {
		const Elf64_Sym *y = &symbols[i];
		struct function *f = &library.functions[library.count];

		if (ELF64_ST_TYPE(y->st_info) != STT_FUNC || !y->st_value || !y->st_size)
			continue;
		f->start = y->st_value;
		f->end = y->st_value + y->st_size;
		f->name = names + y->st_name;
		f->exported = ELF64_ST_BIND(y->st_info) != STB_LOCAL && !is_interface(f->name);
		library.count++;
	}
	qsort(library.functions, library.count, sizeof(*library.functions), by_start);
}

int place_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Ehdr *e;
	const Elf64_Shdr *s;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return -1;
	}
	library.path = path;
	library.file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (library.file == MAP_FAILED) {
		perror(path);
		return -1;
	}
	e = (const void *)library.file;
	s = (const void *)(library.file + e->e_shoff);
	for (unsigned i = 0; i < e->e_shnum; i++)
		if (s[i].sh_type == SHT_SYMTAB)
			take_symbols(e, &s[i]);
	if (!library.count)
		fprintf(stderr, "inject: %s has no symbols\n", path);
	return library.count ? 0 : -1;
}

struct place_map place_find(pid_t tid)
{
	struct place_map m = { 0, 0, 0 };
	char name[64], line[4400], access[8];
	const char *base = strrchr(library.path, '/') + 1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)tid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset;
		const char *file = strrchr(line, '/');

		if (!file || strncmp(file + 1, base, strlen(base)) ||
		    sscanf(line, "%lx-%lx %7s %lx", &start, &end, access, &offset) != 4 ||
		    !strchr(access, 'x'))
			continue;
		m = (struct place_map){ start, end, offset };
	}
	if (f)
		fclose(f);
	return m;
}

/* ADDRESS as the file's symbols count. */
static uint64_t in_file(const struct place_map *m, uint64_t address)
{
	const Elf64_Ehdr *e = (const void *)library.file;
	const Elf64_Phdr *p = (const void *)(library.file + e->e_phoff);
	uint64_t offset = address - m->start + m->offset;

	for (unsigned i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && offset - p[i].p_offset < p[i].p_filesz)
			return offset - p[i].p_offset + p[i].p_vaddr;
	return 0;
}

static const struct function *function_of(const struct place_map *m, uint64_t address)
{
	uint64_t at = in_file(m, address);
	size_t low = 0, high = library.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (library.functions[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || at >= library.functions[low - 1].end)
		return NULL;
	return &library.functions[low - 1];
}

/* The loader maps the first segment's permissions over the whole library before it maps the others.
 */
static bool is_code(const struct place_map *m, uint64_t address)
{
	const Elf64_Ehdr *e = (const void *)library.file;
	const Elf64_Phdr *p = (const void *)(library.file + e->e_phoff);
	uint64_t offset = address - m->start + m->offset;

	for (unsigned i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X) &&
		    offset - p[i].p_offset < p[i].p_filesz)
			return true;
	return false;
}

/* call rel32, or call through a register or memory, in one of its usual lengths. */
static bool is_behind_call(const struct place_map *m, uint64_t address)
{
	const uint8_t *code = library.file + (address - m->start + m->offset);

	if (address - m->start < 7 || !is_code(m, address))
		return false;
	return code[-5] == 0xe8 || (code[-2] == 0xff && (code[-1] & 0x38) == 0x10) ||
	       (code[-3] == 0xff && (code[-2] & 0x38) == 0x10) ||
	       (code[-6] == 0xff && (code[-5] & 0x38) == 0x10);
}

static void add(struct place *p, const struct function *f)
{
	const char *name = f ? f->name : "?";

	if (p->count < PLACE_MAX && (!p->count || strcmp(p->functions[p->count - 1], name)))
		p->functions[p->count++] = name;
}

struct place place_of(pid_t tid, const struct place_map *m, uint64_t ip, uint64_t sp)
{
	static uint64_t words[STACK_LOOK / 8];
	struct place p = { .count = 0 };
	struct iovec to = { words, sizeof(words) };
	struct iovec from = { (void *)(uintptr_t)sp, sizeof(words) }; /* NOLINT */
	ssize_t got;

	if (ip >= m->start && ip < m->end) {
		p.direct = true;
		add(&p, function_of(m, ip - 1));
	}
	/* Near the top of a stack less is there. */
	while ((got = process_vm_readv(tid, &to, 1, &from, 1, 0)) < 0 && from.iov_len > 512)
		from.iov_len /= 2;
	for (ssize_t i = 0; i < got / 8 && p.count < PLACE_MAX; i++)
		if (words[i] >= m->start && words[i] < m->end && is_behind_call(m, words[i]))
			add(&p, function_of(m, words[i] - 1));
	return p;
}

static bool runs_program(const char *name)
{
	for (size_t i = 0; i < sizeof(run_program) / sizeof(*run_program); i++)
		if (!strcmp(name, run_program[i]))
			return true;
	return false;
}

static bool is_exported(const char *name)
{
	for (size_t i = 0; i < library.count; i++)
		if (!strcmp(library.functions[i].name, name))
			return library.functions[i].exported;
	return false;
}

/* Makes its system calls itself, and calls nothing of libc. */
static bool is_below_libc(const char *name)
{
	return !strncmp(name, "cp_sys_", 7) || !strncmp(name, "cp_syscall", 10);
}

/* A word that an earlier call left on the stack may come before the function that is really there,
 * or alone, where an interposed function has jumped to libc's; an interposed function is in the
 * innermost frames if it made the call. */
bool place_is_own(const struct place *p)
{
	bool own = false;

	if (!p->count)
		return false;
	if (p->direct)
		return !is_exported(p->functions[0]);
	for (unsigned i = 0; i < p->count; i++) {
		if (is_exported(p->functions[i]) || runs_program(p->functions[i]))
			return false;
		own |= !is_below_libc(p->functions[i]);
	}
	return own;
}
