/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the library, and programs that can't load it; see verbs.h. */
#include "verbs/verbs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text.h"

#define SCRIPTS_MAX 5 /* the kernel's own limit for scripts that interpret scripts */
#define HEAD_MAX 4096

#ifdef __x86_64__
#define OUR_MACHINE EM_X86_64
#else
#define OUR_MACHINE EM_AARCH64
#endif

/* The library for programs of the other libc is in a folder below the one for cprof's own. */
#ifdef __GLIBC__
#define OTHER_LIBC "musl"
#define IS_OTHER(is_musl) (is_musl)
#else
#define OTHER_LIBC "glibc"
#define IS_OTHER(is_musl) (!(is_musl))
#endif

/* ---- the library ---- */

static char *there(char *path)
{
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

/* Returns the library's path beside DIRECTORY, where cprof is: in a build tree, or in an
 * installation, which may have been moved. OTHER: the library for the other libc. */
static char *beside(const char *directory, bool other)
{
	size_t shared = cp_text_shared_directories(CP_BINDIR "/", CP_LIBDIR "/"),
	       n = strlen(directory);
	const char *bin = &CP_BINDIR[shared], *of = other ? "/" OTHER_LIBC : "";
	char *path = there(ct_memory_printf("%s%s/.libs/libcprof.so", directory, of));

	if (path || n < strlen(bin) || strcmp(directory + n - strlen(bin), bin))
		return path;
	n -= strlen(bin);
	path = there(ct_memory_printf("%.*s%s%s/libcprof.so.0", (int)n, directory,
				      &CP_LIBDIR[shared], of));
	return path ? path
		    : there(ct_memory_printf("%.*s%s%s/libcprof.so", (int)n, directory,
					     &CP_LIBDIR[shared], of));
}

/* Returns the path of this cprof, which the caller frees. Without /proc, it is the name by which
 * cprof was executed, which may be relative, because cprof hasn't left its directory. */
static char *own_path(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return realpath((const char *)getauxval(AT_EXECFN), NULL);
	self[n] = '\0';
	return ct_memory_strdup(self);
}

/* Returns the path of the library that belongs to this cprof, which the caller frees, or NULL. */
static char *find_library(bool other)
{
	char *self = own_path(), *library = NULL;

	if (self) {
		*strrchr(self, '/') = '\0';
		library = beside(self, other);
	}
	free(self);
	return library;
}

/* ---- the program ---- */

static bool is_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if (S_ISREG(st.st_mode) && !access(path, X_OK))
		return true;
	errno = EACCES;
	return false;
}

char *ct_preload_program(const char *name)
{
	const char *from = getenv("PATH"), *end;
	int seen = ENOENT;

	if (strchr(name, '/'))
		return is_program(name) ? ct_memory_strdup(name) : NULL;
	for (from = from ? from : "/bin:/usr/bin"; *name; from = end + 1) {
		char *path;

		end = from + strcspn(from, ":");
		path = ct_memory_printf("%.*s%s%s", (int)(end - from), from, end > from ? "/" : "",
					name);
		if (is_program(path))
			return path;
		if (errno == EACCES)
			seen = EACCES;
		free(path);
		if (!*end)
			break;
	}
	errno = seen;
	return NULL;
}

static bool has_privileges(const char *path, const struct stat *st)
{
	char value[64];

	return (st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	       (st->st_mode & S_ISGID && st->st_mode & S_IXGRP && st->st_gid != getegid()) ||
	       (geteuid() && getxattr(path, "security.capability", value, sizeof(value)) > 0);
}

/* Copies the loader that the program's header names to TO; "" if it names none. */
static bool read_interpreter(int fd, const Elf64_Ehdr *e, char *to, size_t size)
{
	*to = '\0';
	for (unsigned i = 0; i < e->e_phnum; i++) {
		Elf64_Phdr p;
		off_t at = (off_t)(e->e_phoff + (uint64_t)i * e->e_phentsize);

		if (pread(fd, &p, sizeof(p), at) != (ssize_t)sizeof(p))
			return false;
		if (p.p_type != PT_INTERP)
			continue;
		if (p.p_filesz >= size ||
		    pread(fd, to, p.p_filesz, (off_t)p.p_offset) != (ssize_t)p.p_filesz)
			return false;
		to[p.p_filesz] = '\0';
	}
	return true;
}

static char *elf_obstacle(const char *path, int fd, const Elf64_Ehdr *e, bool *other)
{
	char loader[256];

	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != OUR_MACHINE)
		return ct_memory_printf("%s is for another architecture (ELF machine %u, %s-bit)",
					path, e->e_machine,
					e->e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32");
	if (!read_interpreter(fd, e, loader, sizeof(loader)))
		return NULL;
	if (!*loader && !ct_sections_has(path, CT_SECTIONS_LIBCPROF))
		return ct_memory_printf(
			"%s is statically linked: nothing can be preloaded into it. "
			"It can be linked with libcprof: pkg-config --static --libs libcprof",
			path);
	*other = *loader && IS_OTHER(strstr(loader, "ld-musl") != NULL);
	return NULL;
}

/* Returns the program that "#!" names in LINE; for "/usr/bin/env NAME" NAME is looked up. The
 * caller frees it. */
static char *script_program(char *line)
{
	char *rest = line + 2, *name, *argument;

	rest[strcspn(rest, "\n")] = '\0';
	name = strtok_r(rest, " \t", &rest);
	if (!name)
		return NULL;
	argument = strtok_r(NULL, " \t", &rest);
	if (argument && strlen(name) >= 4 && !strcmp(name + strlen(name) - 4, "/env") &&
	    *argument != '-')
		return ct_preload_program(argument);
	return ct_memory_strdup(name);
}

bool ct_preload_is_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[SELFMAG];
	bool is = fd >= 0 && read(fd, magic, SELFMAG) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Returns what ct_preload_obstacle returns. Sets *OTHER if the program's loader is the other
 * libc's. */
static char *obstacle(const char *path, int depth, bool *other)
{
	union {
		char text[HEAD_MAX];
		Elf64_Ehdr elf;
	} head;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *why = NULL, *program;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL; /* a file may be executable without being readable */
	n = read(fd, head.text, sizeof(head) - 1);
	if (n >= (ssize_t)sizeof(head.elf) && !memcmp(head.text, ELFMAG, SELFMAG)) {
		if (!fstat(fd, &st) && has_privileges(path, &st))
			why = ct_memory_printf(
				"%s runs with raised privileges (set-user-id, set-group-id or "
				"capabilities): the loader ignores LD_PRELOAD",
				path);
		else
			why = elf_obstacle(path, fd, &head.elf, other);
	} else if (n > 2 && !memcmp(head.text, "#!", 2) && depth < SCRIPTS_MAX) {
		head.text[n] = '\0';
		program = script_program(head.text);
		why = program ? obstacle(program, depth + 1, other) : NULL;
		free(program);
	}
	close(fd);
	return why;
}

char *ct_preload_obstacle(const char *program, bool *breaks)
{
	bool other = false;
	char *why = obstacle(program, 0, &other), *library = other ? find_library(true) : NULL;

	*breaks = other && !library;
	if (*breaks)
		why = ct_memory_printf("%s is built for " OTHER_LIBC
				       ", and there is no libcprof.so for " OTHER_LIBC
				       " beside this cprof: it runs without libcprof",
				       program);
	free(library);
	return why;
}

char *ct_preload_library(const char *verb)
{
	char *library = find_library(false);

	if (!library)
		fprintf(stderr, "cprof %s: libcprof.so is not installed beside this cprof\n", verb);
	return library;
}

char *ct_preload_setting(const char *verb, const char *program)
{
	const char *before = getenv("LD_PRELOAD");
	char *library, *setting = NULL;
	bool other = false;

	free(obstacle(program, 0, &other));
	library = other ? find_library(true) : NULL;
	if (!library)
		library = ct_preload_library(verb);
	if (library && strpbrk(library, ": "))
		fprintf(stderr, "cprof %s: %s can't be preloaded: its path has a space or colon\n",
			verb, library);
	else if (library)
		setting = ct_memory_printf("LD_PRELOAD=%s%s%s", library,
					   before && *before ? ":" : "", before ? before : "");
	free(library);
	return setting;
}

bool ct_preload_is_go(const char *path)
{
	return ct_sections_has(path, ".go.buildinfo") || ct_sections_has(path, ".note.go.buildid");
}
