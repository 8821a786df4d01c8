/* The functions that we interpose, as the program would have got them without us.
 *
 * One place resolves them all, by dlsym(RTLD_NEXT), else from libc itself. The
 * constructor does it eagerly; an interposer called before that resolves on first use.
 */
#ifndef CP_REAL_H
#define CP_REAL_H

#include <link.h>
#include <pthread.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <threads.h>
#include <time.h>

struct cp_real {
	/* Locks come first: an allocator of the program's may lock one when dlsym allocates. */
	int (*pthread_mutex_lock)(pthread_mutex_t *);
	int (*pthread_mutex_unlock)(pthread_mutex_t *);
	int (*pthread_mutex_trylock)(pthread_mutex_t *);
	int (*pthread_mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*pthread_mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*pthread_rwlock_rdlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_wrlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_unlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_tryrdlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_trywrlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_timedrdlock)(pthread_rwlock_t *, const struct timespec *);
	int (*pthread_rwlock_timedwrlock)(pthread_rwlock_t *, const struct timespec *);
	int (*pthread_rwlock_clockrdlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*pthread_rwlock_clockwrlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*pthread_spin_lock)(pthread_spinlock_t *);
	int (*pthread_spin_trylock)(pthread_spinlock_t *);
	int (*pthread_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*pthread_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int (*pthread_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
				      const struct timespec *);
	int (*sem_wait)(sem_t *);
	int (*sem_trywait)(sem_t *);
	int (*sem_timedwait)(sem_t *, const struct timespec *);
	int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
	int (*pthread_barrier_wait)(pthread_barrier_t *);
	int (*mtx_lock)(mtx_t *);
	int (*mtx_timedlock)(mtx_t *, const struct timespec *);
	int (*mtx_unlock)(mtx_t *);
	int (*cnd_wait)(cnd_t *, mtx_t *);
	int (*cnd_timedwait)(cnd_t *, mtx_t *, const struct timespec *);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*thrd_create)(pthread_t *, int (*)(void *), void *);
	pid_t (*fork)(void);
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
	int (*pthread_sigqueue)(pthread_t, int, union sigval);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[], char *const[]);
	void (*exit_now)(int) __attribute__((noreturn)); /* _exit */
	long (*syscall)(long, ...);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	int (*dlclose)(void *);
	int (*unshare)(int);
	int (*setns)(int, int);
	int (*prctl)(int, ...);
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
	int (*dl_iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
};

/* Valid after cp_real_resolve; a function that libc lacks is NULL. */
extern struct cp_real cp_real;

/* Idempotent. Ordinary context (dlsym takes the loader's lock); in the constructor
 * at the latest. Returns how many could not be found. */
int cp_real_resolve(void);

/* NAME as libc has it, whoever else defines it in this process; NULL: not found. Ordinary context.
 */
void *cp_real_of_libc(const char *name);

/* clock_gettime as the kernel has put it into this process, which is what libc's calls; NULL: it
 * hasn't. Ordinary context. */
void *cp_real_vdso_clock(void);

/* The real NAME, resolved on first use. */
#define CP_REAL(name) (cp_real.name ? cp_real.name : (cp_real_resolve(), cp_real.name))

#endif
