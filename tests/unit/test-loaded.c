/* SPDX-License-Identifier: BSD-3-Clause */
/* Look-ups without the loader: they never contradict dlsym and dladdr. */
#include "harness.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "host/loaded.h"

static struct cp_loaded_name look(const char *name)
{
	struct cp_loaded_name n = { .name = name };

	cp_loaded_look(&n, 1);
	return n;
}

/* Returns what dlsym finds in libc alone: a sanitizer's runtime defines many of its names, too. */
static void *of_libc(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	CHECK(libc != NULL);
	return libc ? dlsym(libc, name) : NULL;
}

static void test_functions_of_libc_are_those_that_dlsym_finds(void)
{
	static const char *const names[] = { "malloc",	 "free",      "posix_memalign", "sigaction",
					     "execve",	 "raise",     "prctl",		"mmap",
					     "dlsym",	 "qsort",     "fopen",		"_exit",
					     "memalign", "setresuid", "pthread_kill",	"environ" };
	unsigned found = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct cp_loaded_name n = look(names[i]);

		CHECK(n.defined);
		CHECK(!n.libc || n.libc == of_libc(names[i]));
		CHECK(!n.libc || n.elsewhere || n.libc == dlsym(RTLD_NEXT, names[i]));
		found += n.libc != NULL;
	}
	CHECK(found >= 10);
}

static void test_default_version_is_found_where_there_are_two(void)
{
#if defined(__x86_64__) && defined(__GLIBC__)
	struct cp_loaded_name n = look("fmemopen");

	CHECK(n.libc && n.libc == dlvsym(RTLD_NEXT, "fmemopen", "GLIBC_2.22"));
	CHECK(n.libc != dlvsym(RTLD_NEXT, "fmemopen", "GLIBC_2.2.5"));
#else
	SKIP("this port has one version of it");
#endif
}

static void test_indirect_functions_and_variables_are_left_to_dlsym(void)
{
	CHECK(look("environ").defined);
	CHECK(!look("environ").libc);
#if defined(__x86_64__) && defined(__GLIBC__)
	CHECK(look("memcpy").defined);
	CHECK(!look("memcpy").libc);
#endif
}

static void test_missing_name_is_certain(void)
{
	struct cp_loaded_name n = look("mallocx");

	CHECK(!dlsym(RTLD_NEXT, "mallocx"));
	CHECK(!n.defined && !n.elsewhere && !n.libc);
	/* This program's own functions are those of the one who asks. */
	CHECK(!look("cp_loaded_look").defined);
}

static void test_name_of_another_object_is_elsewhere(void)
{
	void *other = dlopen("libm.so.6", RTLD_NOW);

	CHECK(other != NULL);
	CHECK(look("nextafter").elsewhere);
	CHECK(look("nextafter").defined && !look("nextafter").libc);
}

static void test_each_name_of_a_call_has_its_answer(void)
{
	struct cp_loaded_name n[3] = { { .name = "malloc" },
				       { .name = "dallocx" },
				       { .name = "free" } };

	cp_loaded_look(n, 3);
	CHECK(n[0].libc == of_libc("malloc"));
	CHECK(!n[1].defined);
	CHECK(n[2].libc == of_libc("free"));
}

static void test_object_of_an_address_is_dladdrs(void)
{
	void *f = dlsym(RTLD_NEXT, "malloc");
	struct cp_loaded_object o = { 0 };
	Dl_info info;

	CHECK(dladdr(f, &info) && cp_loaded_at(f, &o));
	CHECK(!strcmp(o.name, info.dli_fname));
	CHECK_EQ(o.low, (uintptr_t)info.dli_fbase);
	CHECK((uintptr_t)f > o.low && (uintptr_t)f < o.high);
	CHECK(cp_loaded_at(&test_each_name_of_a_call_has_its_answer, &o) && !*o.name);
	CHECK(!cp_loaded_at(&o, &o));
}

int main(void)
{
	RUN(test_functions_of_libc_are_those_that_dlsym_finds);
	RUN(test_default_version_is_found_where_there_are_two);
	RUN(test_indirect_functions_and_variables_are_left_to_dlsym);
	RUN(test_missing_name_is_certain);
	RUN(test_name_of_another_object_is_elsewhere);
	RUN(test_each_name_of_a_call_has_its_answer);
	RUN(test_object_of_an_address_is_dladdrs);
	return harness_end();
}
