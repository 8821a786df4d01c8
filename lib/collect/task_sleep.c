/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's sleep; see collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/atomic.h"
#include "base/sys.h"

#define WAKE_SIGNAL 33

static int signals = -1; /* the signalfd, in the task's own table */
static int process;	 /* the task's process, for the signal */
static uint32_t asleep;	 /* the task's id while it is in ppoll, or about to be; else 0 */

/* Send the signal to task TID. -EAGAIN: the user's limit of pending signals is reached. */
static long send_signal(uint32_t tid)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = WAKE_SIGNAL;
	info.si_code = SI_QUEUE;
	return cp_sys4(SYS_rt_tgsigqueueinfo, process, tid, WAKE_SIGNAL, &info);
}

static bool take_signal(void)
{
	struct signalfd_siginfo taken;

	return cp_sys_read(signals, &taken, sizeof(taken)) == (long)sizeof(taken);
}

int cp_task_sleep_begin(void)
{
	const uint64_t set = CP_SIGBIT(WAKE_SIGNAL);
	long fd = cp_sys4(SYS_signalfd4, -1, &set, sizeof(set), SFD_CLOEXEC | SFD_NONBLOCK);
	long err;

	if (fd < 0)
		return (int)fd;
	signals = (int)fd;
	process = cp_sys_getpid();
	/* Where signals can't be sent, the task must sleep on a futex. */
	err = send_signal((uint32_t)cp_sys_gettid());
	if (!err && take_signal())
		return 0;
	cp_task_sleep_end();
	return err ? (int)err : -EIO;
}

void cp_task_sleep_end(void)
{
	cp_store_seqcst(&asleep, 0);
	if (signals >= 0)
		cp_sys_close(signals);
	signals = -1;
}

void cp_task_sleep(uint32_t *word, uint32_t seen, const struct timespec *timeout,
		   struct pollfd *fds, unsigned count)
{
	struct timespec left = timeout ? *timeout : (struct timespec){ 0, 0 };

	fds[0] = (struct pollfd){ .fd = signals, .events = POLLIN };
	for (unsigned i = 0; i < count; i++)
		fds[i].revents = 0;
	/* Stored before WORD is read: a waker changes WORD before it reads this. So either the
	 * waker sees that it must send a signal, or WORD's change is seen here. */
	cp_store_seqcst(&asleep, (uint32_t)cp_sys_gettid());
	if (cp_load_seqcst(word) == seen)
		cp_sys5(SYS_ppoll, fds, count, timeout ? &left : NULL, NULL, sizeof(uint64_t));
	cp_store_seqcst(&asleep, 0);
	if (fds[0].revents)
		while (take_signal())
			;
}

void cp_task_sleep_wake(uint32_t *word)
{
	uint32_t tid = cp_load_seqcst(&asleep), none = 0;

	/* One signal is enough for a sleep. If it can't be sent, the next waker tries again, or the
	 * sleep ends by itself. */
	if (!tid || !cp_cas_acqrel(&asleep, &tid, 0))
		cp_sys_futex_wake(word, 1);
	else if (send_signal(tid) == -EAGAIN)
		cp_cas_acqrel(&asleep, &none, tid);
}

void cp_task_sleep_fork_child(void)
{
	cp_store_relaxed(&asleep, 0);
	signals = -1;
}
