/* exec and posix_spawn: the profile is written before this program is replaced, and the
 * new one is told whose child it is (lineage.h).
 *
 * All of these may run in the child of a vfork, on the parent's memory: the new
 * environment is built on the stack, and nothing else is written.
 */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "interpose.h"
#include "lineage.h"
#include "real.h"
#include "process.h"
#include "signals.h"

/* Pointers that we are willing to put on the caller's stack; a larger environment is passed
 * on as it is, and the new program then looks at its parent. */
#define ENVIRONMENT_MAX 8192

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static char **with_lineage(char **to, char *const *environment, char *variable)
{
	size_t n = 0;

	for (; *environment; environment++)
		if (strncmp(*environment, CP_LINEAGE_VARIABLE "=",
			    sizeof(CP_LINEAGE_VARIABLE "=") - 1))
			to[n++] = *environment;
	to[n++] = variable;
	to[n] = NULL;
	return to;
}

/* ENVIRONMENT with our variable, on the stack of the calling function. */
#define TOLD(environment, child)                                                                   \
	({                                                                                         \
		char *const *env_ = (environment);                                                 \
		size_t n_ = count(env_);                                                           \
		if (n_ <= ENVIRONMENT_MAX && cp_process_shares(env_)) {                            \
			char *variable_ = alloca(CP_LINEAGE_MAX);                                  \
			cp_process_lineage(variable_, CP_LINEAGE_MAX, (child));                    \
			env_ = with_lineage(alloca((n_ + 2) * sizeof(char *)), env_, variable_);   \
		}                                                                                  \
		env_;                                                                              \
	})

/* In a vfork's child the program to come is another process than the session's. */
static bool in_child(void)
{
	return !cp_process_is_this();
}

static int failed(int result)
{
	int saved = errno;

	cp_process_exec_failed();
	errno = saved;
	return result;
}

INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
	cp_process_exec_begin();
	return failed(CP_REAL(execve)(path, argv, TOLD(envp, in_child())));
}

INTERPOSE int execv(const char *path, char *const argv[])
{
	cp_process_exec_begin();
	return failed(CP_REAL(execve)(path, argv, TOLD(environ, in_child())));
}

INTERPOSE int execvp(const char *file, char *const argv[])
{
	cp_process_exec_begin();
	return failed(CP_REAL(execvpe)(file, argv, TOLD(environ, in_child())));
}

INTERPOSE int execvpe(const char *file, char *const argv[], char *const envp[])
{
	cp_process_exec_begin();
	return failed(CP_REAL(execvpe)(file, argv, TOLD(envp, in_child())));
}

INTERPOSE int fexecve(int fd, char *const argv[], char *const envp[])
{
	cp_process_exec_begin();
	return failed(CP_REAL(fexecve)(fd, argv, TOLD(envp, in_child())));
}

INTERPOSE int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	cp_process_exec_begin();
	return failed(CP_REAL(execveat)(fd, path, argv, TOLD(envp, in_child()), flags));
}

/* The argument list of execl and its kin, as an array on the caller's stack. AP is at the
 * environment afterwards. */
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
		/* The header says that it is never NULL; programs know better. */                 \
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
	cp_process_exec_begin();
	return failed(CP_REAL(execve)(path, argv, TOLD(environ, in_child())));
}

INTERPOSE int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, arg);
	GATHER(arg, ap, argv);
	va_end(ap);
	cp_process_exec_begin();
	return failed(CP_REAL(execvpe)(file, argv, TOLD(environ, in_child())));
}

INTERPOSE int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;

	va_start(ap, arg);
	GATHER(arg, ap, argv);
	envp = va_arg(ap, char **);
	va_end(ap);
	cp_process_exec_begin();
	return failed(CP_REAL(execve)(path, argv, TOLD(envp, in_child())));
}

INTERPOSE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char *const *told = TOLD(envp, true);
	int err;

	cp_signals_exec_begin();
	err = CP_REAL(posix_spawn)(pid, path, actions, attr, argv, told);
	cp_signals_exec_failed();
	return err;
}

INTERPOSE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char *const *told = TOLD(envp, true);
	int err;

	cp_signals_exec_begin();
	err = CP_REAL(posix_spawnp)(pid, file, actions, attr, argv, told);
	cp_signals_exec_failed();
	return err;
}
