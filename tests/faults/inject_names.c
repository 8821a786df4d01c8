/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of system calls and errors, as the injector's command line and report have them. */
#include "inject.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#ifdef __x86_64__

/* clang-format off */
static const struct {
	const char *name;
	long number;
} calls[] = {
#define CALL(name)                                                                                 \
	{                                                                                          \
#name, SYS_##name                                                                  \
	}
	CALL(read),
	CALL(write),
	CALL(close),
	CALL(fstat),
	CALL(poll),
	CALL(mmap),
	CALL(mprotect),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(rt_sigaction),
	CALL(ioctl),
	CALL(pread64),
	CALL(sched_yield),
	CALL(clone),
	CALL(execve),
	CALL(wait4),
	CALL(fcntl),
	CALL(flock),
	CALL(fsync),
	CALL(getcwd),
	CALL(chdir),
	CALL(readlink),
	CALL(prctl),
	CALL(setitimer),
	CALL(futex),
	CALL(getdents64),
	CALL(timer_create),
	CALL(timer_settime),
	CALL(timer_gettime),
	CALL(timer_delete),
	CALL(tgkill),
	CALL(openat),
	CALL(newfstatat),
	CALL(unlinkat),
	CALL(renameat),
	CALL(linkat),
	CALL(readlinkat),
	CALL(faccessat),
	CALL(ppoll),
	CALL(dup3),
	CALL(prlimit64),
	CALL(process_vm_readv),
	CALL(renameat2),
	CALL(getrandom),
	CALL(perf_event_open),
	CALL(faccessat2),
	CALL(clone3),
	CALL(close_range),
	CALL(uname),
	CALL(setsid),
	CALL(rt_sigtimedwait),
	CALL(rt_sigpending),
	CALL(sched_getaffinity),
	CALL(rename),
	CALL(open),
	CALL(unlink),
	CALL(access),
	CALL(stat),
	CALL(lseek),
	CALL(ftruncate),
	CALL(fchmod),
	CALL(pipe2),
	CALL(vfork),
	CALL(fork),
	CALL(writev),
	CALL(dup),
#undef CALL
};
/* clang-format on */
#define CALLS (sizeof(calls) / sizeof(*calls))
_Static_assert(CALLS <= NAMES_CALLS_MAX, "each has a counter");

static const struct {
	const char *name;
	int number;
} errors[] = {
#define ERROR(name)                                                                                \
	{                                                                                          \
#name, name                                                                        \
	}
	ERROR(EPERM),  ERROR(ENOENT), ERROR(EINTR),  ERROR(EIO),    ERROR(EAGAIN),
	ERROR(ENOMEM), ERROR(EACCES), ERROR(EEXIST), ERROR(EINVAL), ERROR(EMFILE),
	ERROR(ENOSPC), ERROR(ENOSYS), ERROR(EROFS),  ERROR(ENFILE), ERROR(EDQUOT),
	ERROR(EFBIG),  ERROR(ESRCH),  ERROR(ECHILD), ERROR(EBADF),  ERROR(ENOLCK),
#undef ERROR
};

size_t names_call(uint64_t number)
{
	for (size_t i = 0; i < CALLS; i++)
		if ((uint64_t)calls[i].number == number)
			return i;
	return NAMES_CALLS_MAX;
}

const char *names_of_call(size_t call)
{
	return calls[call].name;
}

int names_error(const char *name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].number;
	return 0;
}

#endif
