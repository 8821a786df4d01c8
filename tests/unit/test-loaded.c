/* SPDX-License-Identifier: BSD-3-Clause */
/* Look-ups without the loader: they never contradict dlsym and dladdr. */
#include "harness.h"

#include "unwind/unwind.h"

/* A sanitizer's runtime defines many of libc's names, too. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Returns what dlsym finds in libc alone. */
static void *of_libc(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	CHECK(libc != NULL);
	return libc ? dlsym(libc, name) : NULL;
}

TEST(test_functions_are_those_that_dlsym_finds)
{
	static const char *const names[] = { "malloc",	 "free",      "posix_memalign", "sigaction",
					     "execve",	 "raise",     "prctl",		"mmap",
					     "memcpy",	 "qsort",     "fopen",		"_exit",
					     "memalign", "setresuid", "pthread_kill",	"environ",
					     "strlen",	 "nextafter", "mallocx" };

	CHECK(dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL) != NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CHECK(cp_loaded_next_one(names[i]) == dlsym(RTLD_NEXT, names[i]));
		CHECK(cp_loaded_first(names[i]) == dlsym(RTLD_DEFAULT, names[i]));
		CHECK(SANITIZED || cp_loaded_in_libc(names[i]) == of_libc(names[i]));
	}
}

TEST(test_versions_are_the_newest_and_the_oldest)
{
#if defined(__x86_64__) && defined(__GLIBC__) && !SANITIZED
	struct cp_loaded_name n[2] = { { .name = "fmemopen" },
				       { .name = "fmemopen", .oldest = true } };

	cp_loaded_next(n, 2);
	CHECK(n[0].next && n[0].next == dlvsym(RTLD_NEXT, "fmemopen", "GLIBC_2.22"));
	CHECK(n[1].next && n[1].next == dlvsym(RTLD_NEXT, "fmemopen", "GLIBC_2.2.5"));
	/* dlsym of glibc before 2.36 finds the oldest, which wakes nobody in today's
	 * pthread_cond_wait. */
	CHECK(cp_loaded_in_libc("pthread_cond_signal") ==
	      dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2"));
#else
	SKIP("this port has one version of it, or a sanitizer has another");
#endif
}

static __thread int own_variable = 5;
__attribute__((visibility("default"))) __thread int test_loaded_variable = 7;

TEST(test_thread_local_variable_is_the_callers)
{
	int *found = cp_loaded_first("test_loaded_variable");

	CHECK(!found || *found == 7);
	CHECK(found == dlsym(RTLD_DEFAULT, "test_loaded_variable"));
	CHECK(own_variable == 5);
}

TEST(test_own_functions_are_not_the_next)
{
	CHECK(!cp_loaded_next_one("cp_loaded_next_one"));
	CHECK(cp_loaded_is_own((const void *)(uintptr_t)&cp_loaded_first));
	CHECK(!cp_loaded_is_own(of_libc("malloc")));
}

TEST(test_each_name_of_a_call_has_its_answer)
{
	struct cp_loaded_name n[3] = { { .name = "malloc" },
				       { .name = "dallocx" },
				       { .name = "free" } };

	cp_loaded_next(n, 3);
	CHECK(n[0].next == dlsym(RTLD_NEXT, "malloc"));
	CHECK(!n[1].next && !n[1].libc);
	CHECK(n[2].next == dlsym(RTLD_NEXT, "free"));
}

TEST(test_object_is_found_by_its_file)
{
	struct cp_loaded_object o = { 0 }, other = { 0 };
	void *f = of_libc("malloc");

	CHECK(cp_loaded_named("libc.so.6", &o) && cp_loaded_at(f, &other));
	CHECK_EQ(o.low, other.low);
	CHECK(cp_loaded_in((const void *)o.low, "malloc") == f);
	CHECK(!cp_loaded_in((const void *)o.low, "deflate"));
	CHECK(!cp_loaded_named("libc.so", &o));
}

TEST(test_object_of_an_address_is_dladdrs)
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
