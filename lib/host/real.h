/* SPDX-License-Identifier: BSD-3-Clause */
/* The originals of the interposed functions, as the program would get them without the profiler.
 *
 * They are the next definitions after libcprof's, otherwise libc's own. The constructor resolves
 * them eagerly; an interposer that is called before that resolves on first use. A mode keeps the
 * originals of its hooks in its own folder, in a struct like the one below
 * (modes/lock/lock.h).
 */
#ifndef CP_REAL_H
#define CP_REAL_H

#include <mqueue.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Version of glibc's first functions on this machine. */
#ifdef __aarch64__
#define CP_REAL_OLDEST_GLIBC "GLIBC_2.17"
#else
#define CP_REAL_OLDEST_GLIBC "GLIBC_2.2.5"
#endif

struct cp_real {
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	size_t (*pthread_get_minstack)(const pthread_attr_t *);
	int (*thrd_create)(pthread_t *, int (*)(void *), void *);
	pid_t (*fork)(void);
	int (*clone)(int (*)(void *), void *, int, void *, ...);
	int (*daemon)(int, int);
	int (*forkpty)(int *, char *, const struct termios *, const struct winsize *);
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	int (*sigprocmask)(int, const sigset_t *, sigset_t *);
	int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
	int (*sigpending)(sigset_t *);
	int (*sigsuspend)(const sigset_t *);
	int (*sigwait)(const sigset_t *, int *);
	int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
	int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
	int (*raise)(int);
	int (*pthread_kill)(pthread_t, int);
	int (*pthread_kill_before_2_34)(pthread_t, int);
	int (*pthread_sigqueue)(pthread_t, int, union sigval);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[], char *const[]);
	void (*exit_now)(int) __attribute__((noreturn)); /* _exit */
	long (*syscall)(long, ...);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	int (*mprotect)(void *, size_t, int);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	int (*dlclose)(void *);
	int (*unshare)(int);
	int (*setns)(int, int);
	int (*prctl)(int, ...);
	long (*ptrace)(int, ...);
	int (*mq_notify)(mqd_t, const struct sigevent *);
	int (*capset)(void *, const void *);
	int (*setuid)(uid_t);
	int (*setgid)(gid_t);
	int (*seteuid)(uid_t);
	int (*setegid)(gid_t);
	int (*setreuid)(uid_t, uid_t);
	int (*setregid)(gid_t, gid_t);
	int (*setresuid)(uid_t, uid_t, uid_t);
	int (*setresgid)(gid_t, gid_t, gid_t);
	int (*setgroups)(size_t, const gid_t *);
	int (*initgroups)(const char *, gid_t);
	int (*stat)(const char *, struct stat *);
	int (*lstat)(const char *, struct stat *);
	int (*fstat)(int, struct stat *);
	int (*fstatat)(int, const char *, struct stat *, int);
	int (*stat64)(const char *, struct stat64 *);
	int (*lstat64)(const char *, struct stat64 *);
	int (*fstat64)(int, struct stat64 *);
	int (*fstatat64)(int, const char *, struct stat64 *, int);
	int (*__xstat)(int, const char *, struct stat *);
	int (*__lxstat)(int, const char *, struct stat *);
	int (*__fxstat)(int, int, struct stat *);
	int (*__fxstatat)(int, int, const char *, struct stat *, int);
	int (*__xstat64)(int, const char *, struct stat64 *);
	int (*__lxstat64)(int, const char *, struct stat64 *);
	int (*__fxstat64)(int, int, struct stat64 *);
	int (*__fxstatat64)(int, int, const char *, struct stat64 *, int);
	int (*statx)(int, const char *, int, unsigned, struct statx *);
};

/* Valid after cp_real_resolve; a function that libc lacks is NULL. */
extern struct cp_real cp_real;

/* A function to look up. Its name is in a text of all names, each with a NUL: the loader has
 * nothing to relocate at each start. */
struct cp_real_wanted {
	uint16_t at;	/* the pointer's offset in the struct of originals */
	uint8_t since;	/* minor version of the first glibc that has the function */
	uint8_t oldest; /* not 0: its oldest version is wanted, not the default one */
};

/* Look up those of the COUNT functions of WANTED, whose names are NAMES, whose pointers in TO, a
 * struct of originals, are still NULL. Returns the number of functions not found. Ordinary context
 * (the loader's list of modules is locked). */
int cp_real_find(void *to, const struct cp_real_wanted *wanted, size_t count, const char *names);

/* Resolve the functions of struct cp_real. Returns the number of functions not found. Idempotent.
 * Ordinary context, in the constructor at the latest. */
int cp_real_resolve(void);

/* Return the minor version of the running glibc: 31 for 2.31. */
unsigned cp_real_glibc_minor(void);

/* Set the clock by which hooks measure (cp_lock_clock.read): clock_gettime of the vdso, or of libc.
 * A replacement by the program, or by a library that changes the time, may take a lock, and the
 * profiler would call it at that very lock. Idempotent; ordinary context, before a mode that
 * measures starts. */
void cp_real_prepare_clock(void);

/* The real NAME, resolved on first use. */
#define CP_REAL(name) (cp_real.name ? cp_real.name : (cp_real_resolve(), cp_real.name))

#endif
