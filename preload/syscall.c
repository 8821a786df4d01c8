/* syscall(): libc's door for calls that it has no wrapper for. Some of them are ways out. */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "real.h"
#include "session.h"

static const char forbids[] = "the program restricts its system calls (seccomp)";

static void before(long number, const long *a)
{
	switch (number) {
	case SYS_exit_group: cp_session_end_process("at exit_group"); break;
	case SYS_seccomp:
		if (a[0] == SECCOMP_SET_MODE_STRICT || a[0] == SECCOMP_SET_MODE_FILTER)
			cp_session_retire(forbids);
		break;
	case SYS_execve:
	case SYS_execveat: cp_session_exec_begin(); break;
	}
}

static void after(long number)
{
	if (number == SYS_execve || number == SYS_execveat)
		cp_session_exec_failed();
}

INTERPOSE long syscall(long number, ...)
{
	long a[6], result;
	va_list ap;

	/* Arguments that the caller didn't pass are read as garbage and passed on as
	 * such, which is what libc's own does. */
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	before(number, a);
	result = CP_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	after(number);
	return result;
}

INTERPOSE int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP)
		cp_session_retire(forbids);
	return CP_REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}
