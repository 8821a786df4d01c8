/* SPDX-License-Identifier: BSD-3-Clause */
/* The originals: where libc has two layouts of an object, the functions of today's are forwarded
 * to. */
#include "harness.h"

#include <dlfcn.h>
#include <string.h>

#include "host/real.h"
#include "modes/lock/lock.h"

static void *as_pointer(const void *slot)
{
	void *f;

	memcpy(&f, slot, sizeof(f));
	return f;
}

static void test_conditions_are_those_of_the_default_version(void)
{
#if defined(__x86_64__) && defined(__GLIBC__)
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *wait = dlvsym(libc, "pthread_cond_wait", "GLIBC_2.3.2");
	void *timed = dlvsym(libc, "pthread_cond_timedwait", "GLIBC_2.3.2");

	cp_lock_real_resolve();
	CHECK(wait && as_pointer(&cp_lock_real.pthread_cond_wait) == wait);
	CHECK(timed && as_pointer(&cp_lock_real.pthread_cond_timedwait) == timed);
	CHECK(wait != dlvsym(libc, "pthread_cond_wait", "GLIBC_2.2.5"));
#else
	SKIP("this port has one version of them");
#endif
}

static void test_everything_is_found(void)
{
	CHECK_EQ(cp_real_resolve(), 0);
	CHECK_EQ(cp_lock_real_resolve(), 0);
	CHECK(cp_lock_real.pthread_mutex_lock != NULL);
	CHECK(cp_lock_real.sem_clockwait != NULL);
	CHECK(cp_lock_real.cnd_timedwait != NULL);
}

int main(void)
{
	RUN(test_conditions_are_those_of_the_default_version);
	RUN(test_everything_is_found);
	return harness_end();
}
