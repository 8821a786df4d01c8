/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupted calls that the profiler's handlers restart; see host_signal.h. */
#include "host/signal/host_signal.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

/* The operation of a futex call, without its flags. */
#define OPERATION 127u

/* Return true for calls that SA_RESTART decides about (signal(7)). Other calls end with EINTR under
 * any handler, or are restarted under any; they must not be ended here. */
static bool may_end(long call, uint64_t second)
{
	switch (call) {
	case SYS_read:
	case SYS_readv:
	case SYS_preadv2:
	case SYS_write:
	case SYS_writev:
	case SYS_pwritev2:
	case SYS_ioctl:
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
#endif
	case SYS_openat:
	case SYS_openat2:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_flock:
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_sendfile:
	case SYS_futex_waitv:
	case SYS_getrandom: return true;
	case SYS_fcntl: return second == F_SETLKW || second == F_OFD_SETLKW;
	case SYS_futex:
		return (second & OPERATION) == FUTEX_WAIT ||
		       (second & OPERATION) == FUTEX_WAIT_BITSET;
	default: return false;
	}
}

static bool is_restarted(const ucontext_t *uc)
{
	uint64_t second;
	long call = cp_context_call(uc, &second);

	return call >= 0 && may_end(call, second) && cp_context_was_in_call(uc);
}

static bool ends_calls(int sig)
{
	struct cp_sys_sigaction act = { .handler = SIG_DFL };

	cp_sys_sigaction(sig, NULL, &act);
	return act.handler != SIG_DFL && act.handler != SIG_IGN && !(act.flags & SA_RESTART);
}

void cp_restart_end(ucontext_t *uc)
{
	if (is_restarted(uc))
		cp_context_end_call(uc, -EINTR);
}

void cp_restart_check(ucontext_t *uc)
{
	uint64_t pending = 0, blocked;

	if (!is_restarted(uc))
		return;
	memcpy(&blocked, &uc->uc_sigmask, sizeof(blocked));
	cp_sys2(SYS_rt_sigpending, &pending, sizeof(pending));
	pending &= ~blocked;
	for (int sig = 1; sig <= 64 && pending; sig++) {
		if ((pending & CP_SIGBIT(sig)) && ends_calls(sig)) {
			cp_context_end_call(uc, -EINTR);
			return;
		}
	}
}
