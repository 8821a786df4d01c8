/* SPDX-License-Identifier: BSD-3-Clause */
/* A small shared object, made with the compiler at hand: known symbols of all kinds, for the
 * tests of the ELF reader, the symbol tables and the debug files.
 *
 *     if (!fixture_make(&f)) SKIP(...);   …   fixture_remove(&f);
 */
#ifndef ELF_FIXTURE_H
#define ELF_FIXTURE_H

#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system.h"

static const char fixture_source[] =
	"extern int puts(const char *);\n"
	"int fixture_data = 1;\n"
	"__attribute__((noinline)) static int hidden_local(int x) { return x * 3 + fixture_data; "
	"}\n"
	"int exported(int x) { puts(\"x\"); return hidden_local(x) + 1; }\n"
	"int __exported_alias(int) __attribute__((alias(\"exported\")));\n"
	"int a_weak_alias(int) __attribute__((weak, alias(\"exported\")));\n"
	"int __second(int x) { return x - 7; }\n"
	"int second(int) __attribute__((alias(\"__second\")));\n"
	"int _second(int) __attribute__((alias(\"__second\")));\n"
	"int __third(int x) { return x - 8; }\n"
	"int third(int) __attribute__((weak, alias(\"__third\")));\n"
	"void free(void *p) { fixture_data = !p; }\n"
	"void cfree(void *) __attribute__((alias(\"free\")));\n"
	"int versioned_two(int x) { return x + 9; }\n"
	"__asm__(\".symver versioned_two, versioned@@FIXTURE_2\");\n"
	"void *const places[] = { hidden_local };\n"
	"extern char unsized_one[], unsized_two[], unsized_last[];\n"
	"void *const unsized[] = { unsized_one, unsized_two, unsized_last };\n"
	"__asm__(\".pushsection .assembly, \\\"ax\\\"\\n\"\n"
	"	\".hidden unsized_one\\n.hidden unsized_two\\n.hidden unsized_last\\n\"\n"
	"	\".globl unsized_one\\n.globl unsized_two\\n.globl unsized_last\\n\"\n"
	"	\"unsized_one: .zero 16\\n\"\n"
	"	\"unsized_two: .zero 8\\n\\\"$x\\\": .zero 8\\n\"\n"
	"	\"unsized_last: .zero 16\\n\"\n"
	"	\".popsection\\n\");\n";

/* The object is linked for this system's pages, so its segments follow each other without holes. */
#define IMAGE_SIZE (16 * (size_t)sysconf(_SC_PAGESIZE))

struct fixture {
	char dir[64];
	char path[128]; /* of the shared object */
	void *loaded;	/* dlopen handle, or NULL */
};

/* Runs a command, quietly. */
__attribute__((format(printf, 1, 2))) static inline bool fixture_run(const char *fmt, ...)
{
	char command[4096];
	va_list ap;
	int n;

	command[0] = '(';
	va_start(ap, fmt);
	n = vsnprintf(command + 1, sizeof(command) - 20, fmt, ap) + 1;
	va_end(ap);
	snprintf(command + n, sizeof(command) - (size_t)n, ") >/dev/null 2>&1");
	return !system(command);
}

static inline void fixture_write(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
		abort();
}

static inline uint8_t *fixture_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	uint8_t *bytes = malloc(1 << 20);

	if (!f || !bytes)
		abort();
	*n = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
}

static inline bool fixture_make(struct fixture *f)
{
	static const char versions[] = "FIXTURE_2 { global: versioned; };\n"
				       "FIXTURE_1 { global: *; };\n";
	char source[128];

	*f = (struct fixture){ .dir = "/tmp/fixture.XXXXXX" };
	if (!mkdtemp(f->dir))
		return false;
	snprintf(f->path, sizeof(f->path), "%s/fixture.so", f->dir);
	snprintf(source, sizeof(source), "%s/fixture.c", f->dir);
	fixture_write(source, fixture_source, sizeof(fixture_source) - 1);
	snprintf(source, sizeof(source), "%s/fixture.map", f->dir);
	fixture_write(source, versions, sizeof(versions) - 1);
	return fixture_run(
		"cd %s && ${CC:-cc} -O1 -fPIC -shared -Wl,--build-id -Wl,-z,lazy "
		"-Wl,-z,max-page-size=%ld -Wl,--version-script=fixture.map -o fixture.so "
		"fixture.c",
		f->dir, sysconf(_SC_PAGESIZE));
}

static inline bool fixture_load(struct fixture *f)
{
	f->loaded = dlopen(f->path, RTLD_NOW | RTLD_LOCAL);
	return f->loaded != NULL;
}

/* Distance of ADDRESS from where the fixture is loaded: its vaddr, as the linker starts at 0. */
static inline uint64_t fixture_vaddr(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? (uint64_t)((const char *)address - (char *)info.dli_fbase)
				      : 0;
}

static inline uint64_t fixture_image(struct fixture *f)
{
	Dl_info info;

	return dladdr(dlsym(f->loaded, "exported"), &info) ? (uintptr_t)info.dli_fbase : 0;
}

static inline void fixture_remove(struct fixture *f)
{
	if (f->loaded)
		dlclose(f->loaded);
	fixture_run("rm -rf %s", f->dir);
}

#endif
