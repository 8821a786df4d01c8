/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets a signal's handler by a system call, without libc, as some language runtimes do: not by
 * libc's syscall(), either.
 */
#ifndef TRAP_RAW_SIGACTION_H
#define TRAP_RAW_SIGACTION_H

#include "system.h"

#ifdef __x86_64__
#define RESTORER 0x04000000ul /* SA_RESTORER */
void return_from_signal(void);
__asm__(".text\n"
	"return_from_signal:\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n");
#else
#define RESTORER 0ul
#define return_from_signal NULL
#endif

/* 0, or -1 with errno. */
static long raw_sigaction(int sig, void (*handler)(int))
{
	/* The kernel's struct, which libc's is not. */
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} act = { handler, SA_RESTART | RESTORER, return_from_signal, 0 };

#ifdef __x86_64__
	register unsigned long size __asm__("r10") = sizeof(act.mask);
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"((long)SYS_rt_sigaction), "D"((long)sig), "S"(&act), "d"(0L),
			   "r"(size)
			 : "rcx", "r11", "memory");
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : 0;
#else
	return syscall(SYS_rt_sigaction, sig, &act, NULL, sizeof(act.mask));
#endif
}

#endif
