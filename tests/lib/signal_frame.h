/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of an alternate stack the kernel takes for a signal. AT_MINSIGSTKSZ is the most that it
 * may take: with registers that hardly a program uses (8 KiB of them for AMX), far more than it
 * does take.
 */
#ifndef TRAP_SIGNAL_FRAME_H
#define TRAP_SIGNAL_FRAME_H

#include <stddef.h>

#include "host.h"

static volatile uintptr_t signal_frame_at;

static void signal_frame_see(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)si;
	signal_frame_at = (uintptr_t)context;
}

/* In bytes. Uses SIGURG, whose action and the thread's alternate stack are as before afterwards. */
static size_t signal_frame_size(void)
{
	const size_t room = (size_t)64 << 10;
	char *area = (char *)mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);
	stack_t ours, theirs;
	struct sigaction see, before;

	ours.ss_sp = area;
	ours.ss_size = room;
	ours.ss_flags = 0;
	see.sa_sigaction = signal_frame_see;
	see.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigemptyset(&see.sa_mask);
	EXPECT(area != MAP_FAILED && sigaltstack(&ours, &theirs) == 0);
	EXPECT(sigaction(SIGURG, &see, &before) == 0 && raise(SIGURG) == 0);
	EXPECT(sigaction(SIGURG, &before, NULL) == 0 && sigaltstack(&theirs, NULL) == 0);
	EXPECT(munmap(area, room) == 0);
	/* The return address is below the context. */
	return (uintptr_t)area + room - signal_frame_at + sizeof(void *);
}

#endif
