/* SPDX-License-Identifier: BSD-3-Clause */
/* exec and posix_spawn: the profile is written before this program is replaced, and the new program
 * learns its parent (host.h).
 *
 * All of these functions may run in the child of a vfork, on the parent's memory: there the new
 * environment is built on the stack, and no other memory is written. They may also run in a handler
 * on an alternate stack of a few KiB, from which a crash starts its reporter.
 */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/session.h"
#include "host/real.h"

/* Number of pointers that have reserved room. A larger environment is passed on unchanged, and the
 * new program then examines its parent. */
#define ENVIRONMENT_MAX 8192
/* Number of pointers that fit on any stack. */
#define ENVIRONMENT_SMALL 128

/* Return true in a child, such as a vfork's, where the new program will be another process than the
 * session's. */
static bool in_child(void)
{
	return !cp_profiled_is_this();
}

/* Reserved room, for one call at a time and only in the session's process: a vfork's child would
 * never give it back. */
static char *room[ENVIRONMENT_MAX + 2];
static uint32_t room_taken;

static char **take_room(size_t n)
{
	return n > ENVIRONMENT_SMALL && !in_child() && !cp_exchange_acqrel(&room_taken, 1) ? room
											   : NULL;
}

static void give_back(char **taken)
{
	if (taken)
		cp_store_release(&room_taken, 0);
}

#define PAGE ((uintptr_t)4096)

/* The last page that was found readable; 0: none. */
struct reach {
	uintptr_t page;
};

static bool reaches(struct reach *r, const void *p)
{
	uintptr_t page = (uintptr_t)p & -PAGE;

	if (page == r->page && page)
		return true;
	/* A filter may kill the process for asking. */
	if (cp_profiled_retired())
		return true;
	if (!page || !cp_stackmem_probe((uintptr_t)p))
		return false;
	r->page = page;
	return true;
}

static bool reaches_end(struct reach *r, const char *text)
{
	size_t n;

	do {
		if (!reaches(r, text))
			return false;
		n = PAGE - ((uintptr_t)text & (PAGE - 1));
		if (memchr(text, '\0', n))
			return true;
		text += n;
	} while (true);
}

/* Count the variables of LIST. Returns more than ENVIRONMENT_MAX if the kernel will refuse LIST
 * because it can't read all of it. */
static size_t count_variables(char *const *list)
{
	struct reach pointers = { 0 }, texts = { 0 };
	size_t n = 0;

	for (; list; n++) {
		if (!reaches(&pointers, &list[n]) ||
		    !reaches(&pointers, (const char *)&list[n + 1] - 1))
			return SIZE_MAX;
		if (!list[n])
			break;
		if (!reaches_end(&texts, list[n]))
			return SIZE_MAX;
	}
	return n;
}

static char **with_variable(char **to, char *const *environment, char *variable)
{
	size_t n = 0;

	for (; *environment; environment++)
		if (strncmp(*environment, CP_PROCESS_TREE_VARIABLE "=",
			    sizeof(CP_PROCESS_TREE_VARIABLE "=") - 1))
			to[n++] = *environment;
	to[n++] = variable;
	to[n] = NULL;
	return to;
}

/* Replace ENVIRONMENT by one with the profiler's variable, for a CHILD or for this process. It is
 * on the stack of the calling function, or in the reserved room, which is then TAKEN. */
#define TELL(environment, child, taken)                                                            \
	do {                                                                                       \
		size_t n_ = cp_process_shares_any() ? count_variables(environment) : SIZE_MAX;     \
		(taken) = NULL;                                                                    \
		if (n_ <= ENVIRONMENT_MAX && cp_process_shares(environment)) {                     \
			size_t size_ = cp_process_variable_room();                                 \
			char *variable_ = alloca(size_), **to_ = (taken) = take_room(n_);          \
			if (!to_)                                                                  \
				to_ = alloca((n_ + 2) * sizeof(char *));                           \
			cp_process_write_variable(variable_, size_, (child));                      \
			(environment) = with_variable(to_, (environment), variable_);              \
		}                                                                                  \
	} while (0)

static int exec_failed(int result, char **taken)
{
	int saved = errno;

	give_back(taken);
	cp_process_exec_failed();
	errno = saved;
	return result;
}

/* How the call names the new program. */
enum by { BY_PATH, BY_SEARCH, BY_FD, BY_FD_AND_PATH };

/* Replace this program. Returns only if that failed. One function for the whole family: the code
 * that builds the environment is there once. */
static __attribute__((noinline)) int replace(enum by by, int fd, const char *path,
					     char *const argv[], char *const envp[], int flags)
{
	char *const *told = envp;
	char **taken;
	int result;

	cp_process_exec_begin();
	TELL(told, in_child(), taken);
	switch (by) {
	case BY_PATH: result = CP_REAL(execve)(path, argv, told); break;
	case BY_SEARCH: result = CP_REAL(execvpe)(path, argv, told); break;
	case BY_FD: result = CP_REAL(fexecve)(fd, argv, told); break;
	default:
		/* libc's function only makes the system call. */
		result = (int)CP_REAL(syscall)(SYS_execveat, (long)fd, path, argv, told,
					       (long)flags);
	}
	return exec_failed(result, taken);
}

INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
	return replace(BY_PATH, -1, path, argv, envp, 0);
}

INTERPOSE int execv(const char *path, char *const argv[])
{
	return replace(BY_PATH, -1, path, argv, environ, 0);
}

INTERPOSE int execvp(const char *file, char *const argv[])
{
	return replace(BY_SEARCH, -1, file, argv, environ, 0);
}

INTERPOSE int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return replace(BY_SEARCH, -1, file, argv, envp, 0);
}

INTERPOSE int fexecve(int fd, char *const argv[], char *const envp[])
{
	return replace(BY_FD, fd, NULL, argv, envp, 0);
}

INTERPOSE int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return replace(BY_FD_AND_PATH, fd, path, argv, envp, flags);
}

/* Return the number of arguments of execl and its relatives. AP is at the environment afterwards.
 */
static size_t list_length(va_list ap)
{
	size_t n = 1;

	while (va_arg(ap, char *))
		n++;
	return n;
}

#define GATHER(first, ap, argv)                                                                    \
	do {                                                                                       \
		const char *first_ = (first);                                                      \
		va_list count_;                                                                    \
		size_t n_;                                                                         \
		/* The header declares it as never NULL, but some programs pass NULL. */           \
		__asm__("" : "+r"(first_));                                                        \
		va_copy(count_, ap);                                                               \
		n_ = first_ ? list_length(count_) : 0;                                             \
		va_end(count_);                                                                    \
		(argv) = alloca((n_ + 1) * sizeof(char *));                                        \
		(argv)[0] = (char *)first_;                                                        \
		for (size_t i_ = 1; i_ <= n_; i_++)                                                \
			(argv)[i_] = va_arg(ap, char *);                                           \
	} while (0)

INTERPOSE int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, arg);
	GATHER(arg, ap, argv);
	va_end(ap);
	return replace(BY_PATH, -1, path, argv, environ, 0);
}

INTERPOSE int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, arg);
	GATHER(arg, ap, argv);
	va_end(ap);
	return replace(BY_SEARCH, -1, file, argv, environ, 0);
}

INTERPOSE int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;

	va_start(ap, arg);
	GATHER(arg, ap, argv);
	envp = va_arg(ap, char **);
	va_end(ap);
	return replace(BY_PATH, -1, path, argv, envp, 0);
}

typedef int (*spawn_function)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			      const posix_spawnattr_t *, char *const[], char *const[]);

static int spawn(spawn_function real, pid_t *pid, const char *file,
		 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		 char *const argv[], char *const envp[])
{
	char *const *told = envp;
	char **taken;
	bool gave_way;
	int err;

	TELL(told, true, taken);
	cp_signals_exec_begin();
	err = real(pid, file, actions, attr, argv, told);
	gave_way = err && cp_process_gives_way(err);
	if (gave_way)
		err = real(pid, file, actions, attr, argv, told);
	cp_signals_exec_failed();
	if (gave_way)
		cp_process_thread_created();
	give_back(taken);
	return err;
}

INTERPOSE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return spawn(CP_REAL(posix_spawn), pid, path, actions, attr, argv, envp);
}

INTERPOSE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return spawn(CP_REAL(posix_spawnp), pid, file, actions, attr, argv, envp);
}

/* ---- ways to end the process without destructors ---- */

INTERPOSE void _exit(int status)
{
	cp_process_end("at _exit");
	CP_REAL(exit_now)(status);
	__builtin_unreachable();
}

INTERPOSE void _Exit(int status)
{
	cp_process_end("at _Exit");
	CP_REAL(exit_now)(status);
	__builtin_unreachable();
}
