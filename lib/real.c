/* Resolves the originals; see real.h. */
#include "real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct cp_real cp_real;

static const struct {
	const char *name;
	size_t at;
} wanted[] = {
#define WANT(field, symbol)                                                                        \
	{                                                                                          \
		symbol, offsetof(struct cp_real, field)                                            \
	}
	WANT(pthread_create, "pthread_create"),
	WANT(thrd_create, "thrd_create"),
	WANT(sigaction, "sigaction"),
	WANT(sigprocmask, "sigprocmask"),
	WANT(pthread_sigmask, "pthread_sigmask"),
	WANT(sigpending, "sigpending"),
	WANT(sigsuspend, "sigsuspend"),
	WANT(sigwait, "sigwait"),
	WANT(sigwaitinfo, "sigwaitinfo"),
	WANT(sigtimedwait, "sigtimedwait"),
	WANT(execve, "execve"),
	WANT(execvpe, "execvpe"),
	WANT(fexecve, "fexecve"),
	WANT(execveat, "execveat"),
	WANT(posix_spawn, "posix_spawn"),
	WANT(posix_spawnp, "posix_spawnp"),
	WANT(exit_now, "_exit"),
	WANT(syscall, "syscall"),
	WANT(dlclose, "dlclose"),
	WANT(unshare, "unshare"),
	WANT(setns, "setns"),
	WANT(prctl, "prctl"),
#undef WANT
};

static void *resolve(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);
	void *libc;

	if (f)
		return f;
	/* Loaded so that nothing comes "next" (dlopen with RTLD_DEEPBIND, dlmopen). */
	libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	return libc ? dlsym(libc, name) : NULL;
}

int cp_real_resolve(void)
{
	int missing = 0;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		char *slot = (char *)&cp_real + wanted[i].at;
		void *f;

		memcpy(&f, slot, sizeof(f));
		if (f)
			continue;
		f = resolve(wanted[i].name);
		/* Function pointers and object pointers are of one size on every port. */
		memcpy(slot, &f, sizeof(f));
		missing += !f;
	}
	return missing;
}
