/* SPDX-License-Identifier: BSD-3-Clause */
/* What a descriptor is: also where a sandbox refuses statx, as older ones of containers do. */
#include "harness.h"

#include "base/base.h"
#include "modes/io/signal/io_signal.h"
#include "modes/wall/wall.h"

#define EXPECT CHECK
#include "deny.h"

TEST(kinds_are_known)
{
	struct cp_filestat s = { 0 };
	int null = open("/dev/null", O_RDONLY), file = open("/proc/self/exe", O_RDONLY), ends[2];

	CHECK(!pipe(ends));
	CHECK_EQ(cp_io_kind_ask(ends[0]), CP_FD_PIPE);
	CHECK_EQ(cp_io_kind_ask(null), CP_FD_DEVICE);
	CHECK_EQ(cp_wall_cause_kind(getpid(), (uint64_t)null), CP_FD_DEVICE);
	CHECK_EQ(cp_wall_cause_kind(getpid(), (uint64_t)file), CP_FD_FILE);
	CHECK_EQ(cp_filestat_read(null, "", AT_EMPTY_PATH, false, &s), 0);
	CHECK_EQ(s.major, 1);
	CHECK_EQ(cp_filestat_read(AT_FDCWD, "/dev/null/no", 0, false, &s), -ENOTDIR);
	CHECK_EQ(s.major, 1);
	close(null);
	close(file);
	close(ends[0]);
	close(ends[1]);
}

/* As a kernel without statx does. */
static bool refuse_flag_of_fstatat(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x4000 /* AT_STATX_DONT_SYNC */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(program) / sizeof(*program), program };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

static void kinds_are_known_if_a_server_may_be_asked(void)
{
	struct cp_filestat s = { 0 };
	int null = open("/dev/null", O_RDONLY), ends[2];

	CHECK(!pipe(ends));
	CHECK_EQ(cp_io_kind_ask(ends[0]), CP_FD_PIPE);
	CHECK_EQ(cp_io_kind_ask(null), CP_FD_DEVICE);
	CHECK_EQ(cp_filestat_read(null, "", AT_EMPTY_PATH, false, &s), -EINVAL);
	CHECK_EQ(s.major, 0);
	CHECK_EQ(cp_filestat_read(null, "", AT_EMPTY_PATH, true, &s), 0);
	CHECK_EQ(s.major, 1);
	CHECK_EQ(cp_filestat_read(AT_FDCWD, "/dev/null/no", 0, true, &s), -ENOTDIR);
	close(null);
	close(ends[0]);
	close(ends[1]);
}

/* Runs CHECKS in a child to which statx is denied, and with REFUSE_FLAG the flag, too. */
static void in_sandbox(bool refuse_flag, void (*checks)(void))
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		if (!deny_call(SYS_statx) || (refuse_flag && !refuse_flag_of_fstatat()))
			_exit(77);
		checks();
		fflush(stdout);
		_exit(harness_failures != 0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("there are no filters of system calls here");
	CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(kinds_are_known_without_statx)
{
	in_sandbox(false, kinds_are_known);
}

TEST(kinds_are_known_on_a_kernel_without_statx)
{
	in_sandbox(true, kinds_are_known_if_a_server_may_be_asked);
}
