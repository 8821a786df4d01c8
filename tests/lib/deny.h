/* SPDX-License-Identifier: BSD-3-Clause */
/* A sandbox that refuses one system call, for the calling process (or thread) and the programs that
 * it execs.
 */
#ifndef TRAP_DENY_H
#define TRAP_DENY_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

/* By ACTION: SECCOMP_RET_ERRNO and an error (0: it does nothing), SECCOMP_RET_KILL_PROCESS. false:
 * there are no filters here. */
static bool deny_call_as(unsigned number, unsigned action)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(program) / sizeof(*program), program };

	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

static inline bool deny_call(unsigned number)
{
	return deny_call_as(number, SECCOMP_RET_ERRNO | EPERM);
}

#endif
