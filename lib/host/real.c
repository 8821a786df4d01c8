/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves the originals; see real.h. */
#include "host/real.h"

#include <gnu/libc-version.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/atomic.h"
#include "base/start_data.h"
#include "base/text.h"
#include "unwind/unwind.h"
#include "sample/lock_clock.h"

struct cp_real cp_real CP_START_DATA;

/* clang-format off */
#define FUNCTIONS \
	WANT(pthread_create, "pthread_create") \
	WANT(pthread_get_minstack, "__pthread_get_minstack") \
	WANT(fork, "fork") \
	WANT(clone, "clone") \
	WANT(daemon, "daemon") \
	WANT(forkpty, "forkpty") \
	WANT(thrd_create, "thrd_create") \
	WANT(sigaction, "sigaction") \
	WANT(sigprocmask, "sigprocmask") \
	WANT(pthread_sigmask, "pthread_sigmask") \
	WANT(sigpending, "sigpending") \
	WANT(sigsuspend, "sigsuspend") \
	WANT(sigwait, "sigwait") \
	WANT(sigwaitinfo, "sigwaitinfo") \
	WANT(sigtimedwait, "sigtimedwait") \
	WANT(raise, "raise") \
	WANT(pthread_kill, "pthread_kill") \
	ROW(0, pthread_kill_before_2_34, "pthread_kill", 1) \
	WANT(pthread_sigqueue, "pthread_sigqueue") \
	WANT(execve, "execve") \
	WANT(execvpe, "execvpe") \
	WANT(fexecve, "fexecve") \
	WANT(posix_spawn, "posix_spawn") \
	WANT(posix_spawnp, "posix_spawnp") \
	WANT(exit_now, "_exit") \
	WANT(syscall, "syscall") \
	WANT(mmap, "mmap") \
	WANT(munmap, "munmap") \
	WANT(mprotect, "mprotect") \
	WANT(mremap, "mremap") \
	WANT(brk, "brk") \
	WANT(sbrk, "sbrk") \
	WANT(dlclose, "dlclose") \
	WANT(unshare, "unshare") \
	WANT(setns, "setns") \
	WANT(prctl, "prctl") \
	WANT(ptrace, "ptrace") \
	WANT(mq_notify, "mq_notify") \
	WANT(capset, "capset") \
	WANT(setuid, "setuid") \
	WANT(setgid, "setgid") \
	WANT(seteuid, "seteuid") \
	WANT(setegid, "setegid") \
	WANT(setreuid, "setreuid") \
	WANT(setregid, "setregid") \
	WANT(setresuid, "setresuid") \
	WANT(setresgid, "setresgid") \
	WANT(setgroups, "setgroups") \
	WANT(initgroups, "initgroups") \
	SINCE(33, stat, "stat") \
	SINCE(33, lstat, "lstat") \
	SINCE(33, fstat, "fstat") \
	SINCE(33, fstatat, "fstatat") \
	SINCE(33, stat64, "stat64") \
	SINCE(33, lstat64, "lstat64") \
	SINCE(33, fstat64, "fstat64") \
	SINCE(33, fstatat64, "fstatat64") \
	WANT(__xstat, "__xstat") \
	WANT(__lxstat, "__lxstat") \
	WANT(__fxstat, "__fxstat") \
	WANT(__fxstatat, "__fxstatat") \
	WANT(__xstat64, "__xstat64") \
	WANT(__lxstat64, "__lxstat64") \
	WANT(__fxstat64, "__fxstat64") \
	WANT(__fxstatat64, "__fxstatat64") \
	WANT(statx, "statx")
/* clang-format on */
#define SINCE(minor, field, symbol) ROW(minor, field, symbol, 0)
#define WANT(field, symbol) SINCE(0, field, symbol)

#define ROW(minor, field, symbol, oldest) { offsetof(struct cp_real, field), minor, oldest },
static const struct cp_real_wanted wanted[] = { FUNCTIONS };
#undef ROW
#define ROW(minor, field, symbol, oldest) symbol "\0"
static const char wanted_names[] = FUNCTIONS;
#undef ROW

unsigned cp_real_glibc_minor(void)
{
	static unsigned known CP_START_DATA;
	const char *s = gnu_get_libc_version();
	uint64_t minor = 0;

	if (cp_load_relaxed(&known))
		return known;
	s += strcspn(s, ".");
	if (*s++ == '.')
		cp_text_parse_u64(&s, 10, &minor);
	cp_store_relaxed(&known, (unsigned)minor);
	return (unsigned)minor;
}

static void *vdso_clock(void)
{
#ifdef __aarch64__
	const char *name = "__kernel_clock_gettime";
#else
	const char *name = "__vdso_clock_gettime";
#endif
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	return vdso ? cp_loaded_in(vdso, name) : NULL;
}

void cp_real_prepare_clock(void)
{
	void *f;

	if (cp_lock_clock.read)
		return;
	f = vdso_clock();
	if (!f)
		f = cp_loaded_in_libc("clock_gettime");
	if (f)
		memcpy(&cp_lock_clock.read, &f, sizeof(f));
	else
		cp_lock_clock.read = clock_gettime;
}

/* Does SLOT lack the function W, which this libc should have? */
static bool is_missing(const char *slot, const struct cp_real_wanted *w)
{
	void *f;

	memcpy(&f, slot, sizeof(f));
	return !f && w->since <= cp_real_glibc_minor();
}

static bool any_missing(const char *to, const struct cp_real_wanted *functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_missing(to + functions[i].at, &functions[i]))
			return true;
	return false;
}

int cp_real_find(void *to, const struct cp_real_wanted *functions, size_t count, const char *names)
{
	struct cp_loaded_name found[count];
	int missing = 0;

	/* The walk over all objects is for the first call. */
	if (!any_missing(to, functions, count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		found[i].name = names;
		found[i].oldest = functions[i].oldest;
		names += strlen(names) + 1;
	}
	cp_loaded_next(found, (unsigned)count);
	for (size_t i = 0; i < count; i++) {
		char *slot = (char *)to + functions[i].at;
		void *f;

		if (!is_missing(slot, &functions[i]))
			continue;
		/* The library was loaded so that no module comes next (dlopen with RTLD_DEEPBIND,
		 * dlmopen). */
		f = found[i].next ? found[i].next : found[i].libc;
		/* Function pointers and object pointers have the same size on every port. */
		memcpy(slot, &f, sizeof(f));
		missing += !f;
	}
	return missing;
}

int cp_real_resolve(void)
{
	return cp_real_find(&cp_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);
}
