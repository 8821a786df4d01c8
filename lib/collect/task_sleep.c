/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's sleep; see collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <string.h>

#define WAKE_SIGNAL 33

#define LOOK_AGAIN 64u
#define LONG_NS 150000000

static int process;	/* process of the task, which the signal is sent to */
static uint32_t asleep; /* the task's id while it waits for the signal, or is about to; else 0 */
static bool quiet;	/* the last sleep lasted until its timeout */
static unsigned short_sleeps;
static int watched[CP_TASK_SLEEP_FDS]; /* descriptors of the last sleep */

/* Send the signal to task TID. -EAGAIN: the user's limit of pending signals is reached. */
static long send_signal(uint32_t tid)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = WAKE_SIGNAL;
	info.si_code = SI_QUEUE;
	return cp_sys4(SYS_rt_tgsigqueueinfo, process, tid, WAKE_SIGNAL, &info);
}

/* Take one signal, or wait for one until TIMEOUT is over (NULL: no end). */
static bool take_signal(const struct timespec *timeout)
{
	const uint64_t set = CP_SIGBIT(WAKE_SIGNAL);

	return cp_sys4(SYS_rt_sigtimedwait, &set, NULL, timeout, sizeof(set)) == WAKE_SIGNAL;
}

static void take_signals(void)
{
	const struct timespec now = { 0, 0 };

	while (take_signal(&now))
		;
}

static bool any_ready(struct pollfd *fds, unsigned count)
{
	const struct timespec now = { 0, 0 };

	return cp_sys5(SYS_ppoll, fds, count, &now, NULL, sizeof(uint64_t)) > 0;
}

int cp_task_sleep_begin(void)
{
	const struct timespec now = { 0, 0 };
	long err;

	process = cp_sys_getpid();
	quiet = false;
	/* If signals can't be sent, the task must sleep on a futex. */
	err = send_signal((uint32_t)cp_sys_gettid());
	if (err)
		return (int)err;
	return take_signal(&now) ? 0 : -EIO;
}

int cp_task_sleep_watch(int fd)
{
	struct f_owner_ex owner = { F_OWNER_TID, cp_sys_gettid() };
	long err = cp_sys3(SYS_fcntl, fd, F_SETOWN_EX, &owner);

	if (!err)
		err = cp_sys3(SYS_fcntl, fd, F_SETSIG, WAKE_SIGNAL);
	if (!err)
		err = cp_sys3(SYS_fcntl, fd, F_SETFL, O_NONBLOCK | O_ASYNC);
	return (int)err;
}

void cp_task_sleep_end(void)
{
	cp_store_seqcst(&asleep, 0);
}

/* Watch FDS again if they aren't those of the last sleep, or if a signal ended that sleep: then one
 * may be ready that sends no further signal. Before a long sleep in any case, and among short ones
 * from time to time, because the kernel refuses an owner whose user ids have changed since. */
static bool look_first(const struct timespec *timeout, struct pollfd *fds, unsigned count)
{
	bool same = quiet && ++short_sleeps % LOOK_AGAIN && timeout && !timeout->tv_sec &&
		    timeout->tv_nsec < LONG_NS;

	for (unsigned i = 0; i < count; i++) {
		same &= watched[i] == fds[i].fd;
		watched[i] = fds[i].fd;
	}
	if (same)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (fds[i].fd >= 0)
			cp_task_sleep_watch(fds[i].fd);
	return true;
}

void cp_task_sleep(uint32_t *word, uint32_t seen, const struct timespec *timeout,
		   struct pollfd *fds, unsigned count)
{
	bool look = look_first(timeout, fds, count);

	/* Stored before WORD is read: a waker changes WORD before it reads this. So either the
	 * waker sees that it must send a signal, or WORD's change is seen here. A descriptor
	 * that becomes ready after any_ready has sent a signal before the wait. */
	cp_store_seqcst(&asleep, (uint32_t)cp_sys_gettid());
	quiet = cp_load_seqcst(word) == seen && !(look && any_ready(fds, count)) &&
		!take_signal(timeout);
	cp_store_seqcst(&asleep, 0);
	if (quiet)
		return;
	take_signals();
	any_ready(fds, count);
}

void cp_task_sleep_wake(uint32_t *word)
{
	uint32_t tid = cp_load_seqcst(&asleep), none = 0;

	/* One signal ends the sleep. If it can't be sent, the next waker tries again, or the sleep
	 * ends by its timeout. */
	if (!tid || !cp_cas_acqrel(&asleep, &tid, 0))
		cp_sys_futex_wake(word, 1);
	else if (send_signal(tid) == -EAGAIN)
		cp_cas_acqrel(&asleep, &none, tid);
}

void cp_task_sleep_fork_child(void)
{
	cp_store_relaxed(&asleep, 0);
}
