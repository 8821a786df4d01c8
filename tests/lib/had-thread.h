/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that had a second thread: libc, and so the profiler, takes it for one of several from
 * then on, while the kernel sees one.
 */
#ifndef TRAP_HAD_THREAD_H
#define TRAP_HAD_THREAD_H

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *note_tid(void *tid)
{
	*(int *)tid = (int)syscall(SYS_gettid);
	return NULL;
}

static void have_a_thread(void)
{
	pthread_t thread;
	int tid;

	EXPECT(pthread_create(&thread, NULL, note_tid, &tid) == 0);
	pthread_join(thread, NULL);
	/* Joined, it may still count. */
	while (!syscall(SYS_tgkill, getpid(), tid, 0))
		usleep(1000);
}

#endif
