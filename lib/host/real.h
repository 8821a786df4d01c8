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

#include "base/libc.h"

/* clang-format off */
/* Each as X(minor version of glibc since which it is there, 0: always, result, name here,
 * parameters, libc's name, 1: its oldest version). */
#define CP_REAL_FUNCTIONS(X) \
	X(0, int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), "pthread_create", 0) \
	X(0, size_t, pthread_get_minstack, (const pthread_attr_t *), "__pthread_get_minstack", 0) \
	X(0, int, thrd_create, (pthread_t *, int (*)(void *), void *), "thrd_create", 0) \
	X(0, pid_t, fork, (void), "fork", 0) \
	X(0, int, clone, (int (*)(void *), void *, int, void *, ...), "clone", 0) \
	X(0, pid_t, vfork, (void), "vfork", 0) \
	X(0, int, daemon, (int, int), "daemon", 0) \
	X(0, int, forkpty, (int *, char *, const struct termios *, const struct winsize *), "forkpty", 0) \
	X(0, int, sigaction, (int, const struct sigaction *, struct sigaction *), "sigaction", 0) \
	X(0, int, sigprocmask, (int, const sigset_t *, sigset_t *), "sigprocmask", 0) \
	X(0, int, pthread_sigmask, (int, const sigset_t *, sigset_t *), "pthread_sigmask", 0) \
	X(0, int, sigpending, (sigset_t *), "sigpending", 0) \
	X(0, int, sigsuspend, (const sigset_t *), "sigsuspend", 0) \
	X(0, int, sigwait, (const sigset_t *, int *), "sigwait", 0) \
	X(0, int, sigwaitinfo, (const sigset_t *, siginfo_t *), "sigwaitinfo", 0) \
	X(0, int, sigtimedwait, (const sigset_t *, siginfo_t *, const struct timespec *), "sigtimedwait", 0) \
	X(0, int, raise, (int), "raise", 0) \
	X(0, int, pthread_kill, (pthread_t, int), "pthread_kill", 0) \
	X(0, int, pthread_kill_before_2_34, (pthread_t, int), "pthread_kill", 1) \
	X(0, int, pthread_sigqueue, (pthread_t, int, union sigval), "pthread_sigqueue", 0) \
	X(0, int, execve, (const char *, char *const[], char *const[]), "execve", 0) \
	X(0, int, execvpe, (const char *, char *const[], char *const[]), "execvpe", 0) \
	X(0, int, fexecve, (int, char *const[], char *const[]), "fexecve", 0) \
	X(0, int, posix_spawn, (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]), "posix_spawn", 0) \
	X(0, int, posix_spawnp, (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]), "posix_spawnp", 0) \
	X(0, void, exit_now, (int) __attribute__((noreturn)), "_exit", 0) \
	X(0, long, syscall, (long, ...), "syscall", 0) \
	X(0, void *, mmap, (void *, size_t, int, int, int, off_t), "mmap", 0) \
	X(0, int, munmap, (void *, size_t), "munmap", 0) \
	X(0, int, mprotect, (void *, size_t, int), "mprotect", 0) \
	X(0, void *, mremap, (void *, size_t, size_t, int, ...), "mremap", 0) \
	X(0, int, brk, (void *), "brk", 0) \
	X(0, void *, sbrk, (intptr_t), "sbrk", 0) \
	X(0, int, dlclose, (void *), "dlclose", 0) \
	X(0, int, unshare, (int), "unshare", 0) \
	X(0, int, setns, (int, int), "setns", 0) \
	X(0, int, prctl, (int, ...), "prctl", 0) \
	X(0, long, ptrace, (int, ...), "ptrace", 0) \
	X(0, int, mq_notify, (mqd_t, const struct sigevent *), "mq_notify", 0) \
	X(0, int, capset, (void *, const void *), "capset", 0) \
	X(0, int, setuid, (uid_t), "setuid", 0) \
	X(0, int, setgid, (gid_t), "setgid", 0) \
	X(0, int, seteuid, (uid_t), "seteuid", 0) \
	X(0, int, setegid, (gid_t), "setegid", 0) \
	X(0, int, setreuid, (uid_t, uid_t), "setreuid", 0) \
	X(0, int, setregid, (gid_t, gid_t), "setregid", 0) \
	X(0, int, setresuid, (uid_t, uid_t, uid_t), "setresuid", 0) \
	X(0, int, setresgid, (gid_t, gid_t, gid_t), "setresgid", 0) \
	X(0, int, setgroups, (size_t, const gid_t *), "setgroups", 0) \
	X(0, int, initgroups, (const char *, gid_t), "initgroups", 0) \
	X(33, int, stat, (const char *, struct stat *), "stat", 0) \
	X(33, int, lstat, (const char *, struct stat *), "lstat", 0) \
	X(33, int, fstat, (int, struct stat *), "fstat", 0) \
	X(33, int, fstatat, (int, const char *, struct stat *, int), "fstatat", 0) \
	X(33, int, stat64, (const char *, struct stat64 *), "stat64", 0) \
	X(33, int, lstat64, (const char *, struct stat64 *), "lstat64", 0) \
	X(33, int, fstat64, (int, struct stat64 *), "fstat64", 0) \
	X(33, int, fstatat64, (int, const char *, struct stat64 *, int), "fstatat64", 0) \
	X(0, int, __xstat, (int, const char *, struct stat *), "__xstat", 0) \
	X(0, int, __lxstat, (int, const char *, struct stat *), "__lxstat", 0) \
	X(0, int, __fxstat, (int, int, struct stat *), "__fxstat", 0) \
	X(0, int, __fxstatat, (int, int, const char *, struct stat *, int), "__fxstatat", 0) \
	X(0, int, __xstat64, (int, const char *, struct stat64 *), "__xstat64", 0) \
	X(0, int, __lxstat64, (int, const char *, struct stat64 *), "__lxstat64", 0) \
	X(0, int, __fxstat64, (int, int, struct stat64 *), "__fxstat64", 0) \
	X(0, int, __fxstatat64, (int, int, const char *, struct stat64 *, int), "__fxstatat64", 0) \
	X(0, int, statx, (int, const char *, int, unsigned, struct statx *), "statx", 0)
#define CP_REAL_FIELD(since, type, name, parameters, symbol, oldest) type(*name) parameters;
struct cp_real { CP_REAL_FUNCTIONS(CP_REAL_FIELD) };
#undef CP_REAL_FIELD
/* clang-format on */

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

/* Set the clock by which hooks measure (cp_lock_clock.read): clock_gettime of the vdso, or of libc.
 * A replacement by the program, or by a library that changes the time, may take a lock, and the
 * profiler would call it at that very lock. Idempotent; ordinary context, before a mode that
 * measures starts. */
void cp_real_prepare_clock(void);

/* The real NAME, resolved on first use. */
#define CP_REAL(name) (cp_real.name ? cp_real.name : (cp_real_resolve(), cp_real.name))

#endif
