/* Resolves the originals; see real.h. */
#include "real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

struct cp_real cp_real;

static const struct {
	const char *name;
	size_t at;
} wanted[] = {
#define WANT(field, symbol)                                                                        \
	{                                                                                          \
		symbol, offsetof(struct cp_real, field)                                            \
	}
	WANT(pthread_mutex_lock, "pthread_mutex_lock"),
	WANT(pthread_mutex_unlock, "pthread_mutex_unlock"),
	WANT(pthread_mutex_trylock, "pthread_mutex_trylock"),
	WANT(pthread_mutex_timedlock, "pthread_mutex_timedlock"),
	WANT(pthread_mutex_clocklock, "pthread_mutex_clocklock"),
	WANT(pthread_rwlock_rdlock, "pthread_rwlock_rdlock"),
	WANT(pthread_rwlock_wrlock, "pthread_rwlock_wrlock"),
	WANT(pthread_rwlock_unlock, "pthread_rwlock_unlock"),
	WANT(pthread_rwlock_tryrdlock, "pthread_rwlock_tryrdlock"),
	WANT(pthread_rwlock_trywrlock, "pthread_rwlock_trywrlock"),
	WANT(pthread_rwlock_timedrdlock, "pthread_rwlock_timedrdlock"),
	WANT(pthread_rwlock_timedwrlock, "pthread_rwlock_timedwrlock"),
	WANT(pthread_rwlock_clockrdlock, "pthread_rwlock_clockrdlock"),
	WANT(pthread_rwlock_clockwrlock, "pthread_rwlock_clockwrlock"),
	WANT(pthread_spin_lock, "pthread_spin_lock"),
	WANT(pthread_spin_trylock, "pthread_spin_trylock"),
	WANT(pthread_cond_wait, "pthread_cond_wait"),
	WANT(pthread_cond_timedwait, "pthread_cond_timedwait"),
	WANT(pthread_cond_clockwait, "pthread_cond_clockwait"),
	WANT(sem_wait, "sem_wait"),
	WANT(sem_trywait, "sem_trywait"),
	WANT(sem_timedwait, "sem_timedwait"),
	WANT(sem_clockwait, "sem_clockwait"),
	WANT(pthread_barrier_wait, "pthread_barrier_wait"),
	WANT(mtx_lock, "mtx_lock"),
	WANT(mtx_timedlock, "mtx_timedlock"),
	WANT(mtx_unlock, "mtx_unlock"),
	WANT(cnd_wait, "cnd_wait"),
	WANT(cnd_timedwait, "cnd_timedwait"),
	WANT(pthread_create, "pthread_create"),
	WANT(fork, "fork"),
	WANT(daemon, "daemon"),
	WANT(forkpty, "forkpty"),
	WANT(thrd_create, "thrd_create"),
	WANT(sigaction, "sigaction"),
	WANT(sigprocmask, "sigprocmask"),
	WANT(pthread_sigmask, "pthread_sigmask"),
	WANT(sigpending, "sigpending"),
	WANT(sigsuspend, "sigsuspend"),
	WANT(sigwait, "sigwait"),
	WANT(sigwaitinfo, "sigwaitinfo"),
	WANT(sigtimedwait, "sigtimedwait"),
	WANT(raise, "raise"),
	WANT(pthread_kill, "pthread_kill"),
	WANT(pthread_sigqueue, "pthread_sigqueue"),
	WANT(execve, "execve"),
	WANT(execvpe, "execvpe"),
	WANT(fexecve, "fexecve"),
	WANT(execveat, "execveat"),
	WANT(posix_spawn, "posix_spawn"),
	WANT(posix_spawnp, "posix_spawnp"),
	WANT(exit_now, "_exit"),
	WANT(syscall, "syscall"),
	WANT(mmap, "mmap"),
	WANT(munmap, "munmap"),
	WANT(mremap, "mremap"),
	WANT(brk, "brk"),
	WANT(sbrk, "sbrk"),
	WANT(dlclose, "dlclose"),
	WANT(unshare, "unshare"),
	WANT(setns, "setns"),
	WANT(prctl, "prctl"),
	WANT(capset, "capset"),
	WANT(setuid, "setuid"),
	WANT(setgid, "setgid"),
	WANT(seteuid, "seteuid"),
	WANT(setegid, "setegid"),
	WANT(setreuid, "setreuid"),
	WANT(setregid, "setregid"),
	WANT(setresuid, "setresuid"),
	WANT(setresgid, "setresgid"),
	WANT(setgroups, "setgroups"),
	WANT(initgroups, "initgroups"),
	WANT(stat, "stat"),
	WANT(lstat, "lstat"),
	WANT(fstat, "fstat"),
	WANT(fstatat, "fstatat"),
	WANT(stat64, "stat64"),
	WANT(lstat64, "lstat64"),
	WANT(fstat64, "fstat64"),
	WANT(fstatat64, "fstatat64"),
	WANT(__xstat, "__xstat"),
	WANT(__lxstat, "__lxstat"),
	WANT(__fxstat, "__fxstat"),
	WANT(__fxstatat, "__fxstatat"),
	WANT(__xstat64, "__xstat64"),
	WANT(__lxstat64, "__lxstat64"),
	WANT(__fxstat64, "__fxstat64"),
	WANT(__fxstatat64, "__fxstatat64"),
	WANT(statx, "statx"),
	WANT(dl_iterate_phdr, "dl_iterate_phdr"),
#undef WANT
};

/* Where libc has a function twice, for another layout of its object or another result, the one that
 * it links programs with today: dlsym of some versions gives the oldest. A look-up that fails
 * allocates, so none is made where there is but one. */
static const char *version_of(const char *name)
{
#if defined(__x86_64__) && defined(__GLIBC__)
	if (!strcmp(name, "pthread_cond_wait") || !strcmp(name, "pthread_cond_timedwait"))
		return "GLIBC_2.3.2";
#endif
#ifdef __GLIBC__
	if (__GLIBC_PREREQ(2, 34) && !strcmp(name, "pthread_kill"))
		return "GLIBC_2.34";
#endif
	(void)name;
	return NULL;
}

static void *look_up(void *handle, const char *name)
{
	const char *version = version_of(name);
	void *f = version ? dlvsym(handle, name, version) : NULL;

	return f ? f : dlsym(handle, name);
}

void *cp_real_of_libc(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	return libc ? look_up(libc, name) : NULL;
}

void *cp_real_vdso_clock(void)
{
#ifdef __aarch64__
	const char *name = "__kernel_clock_gettime";
#else
	const char *name = "__vdso_clock_gettime";
#endif
	void *vdso = getauxval(AT_SYSINFO_EHDR) ? dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD)
						: NULL;

	return vdso ? dlsym(vdso, name) : NULL;
}

static void *resolve(const char *name)
{
	void *f = look_up(RTLD_NEXT, name);

	/* Loaded so that nothing comes "next" (dlopen with RTLD_DEEPBIND, dlmopen). */
	return f ? f : cp_real_of_libc(name);
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
