/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/attach/seccomp.c: what filters of system calls do, judged without a process; that real ones
 * are read and judged so, tests/e2e/attach-filtered.sh proves. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>

#include "attach/attach.h"
#include "harness.h"

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(op, value, then, otherwise) BPF_JUMP(BPF_JMP | (op) | BPF_K, value, then, otherwise)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define FILTER(call, ...)                                                                          \
	ct_seccomp_run((const struct sock_filter[]){ __VA_ARGS__ },                                \
		       sizeof((const struct sock_filter[]){ __VA_ARGS__ }) /                       \
			       sizeof(struct sock_filter),                                         \
		       call)

static const struct ct_seccomp_call map = { .number = SYS_mmap,
					    .known = 4,
					    .args = { 0, 0, PROT_READ | PROT_EXEC } };

TEST(test_results_are_told_apart)
{
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_ALLOW)), CT_SECCOMP_ALLOWED);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_LOG)), CT_SECCOMP_ALLOWED);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_ERRNO | ENOSYS)), CT_SECCOMP_ABSENT);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_ERRNO | EPERM)), CT_SECCOMP_FAILS);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_ERRNO)), CT_SECCOMP_FAILS);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_KILL_THREAD)), CT_SECCOMP_KILLS);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_KILL_PROCESS)), CT_SECCOMP_KILLS);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_TRAP)), CT_SECCOMP_KILLS);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_TRACE)), CT_SECCOMP_KILLS);
	CHECK_EQ(FILTER(&map, RETURN(SECCOMP_RET_USER_NOTIF)), CT_SECCOMP_KILLS);
}

TEST(test_number_and_architecture_are_known)
{
	CHECK_EQ(FILTER(&map, LOAD(arch), IF(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
			RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(nr), IF(BPF_JGE, 0x40000000, 0, 1),
			RETURN(SECCOMP_RET_KILL_PROCESS), IF(BPF_JEQ, SYS_mmap, 0, 1),
			RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS)),
		 CT_SECCOMP_ALLOWED);
}

/* As systemd's MemoryDenyWriteExecute= asks. */
TEST(test_known_arguments_are_compared)
{
	struct ct_seccomp_call both = map;

	both.args[2] |= PROT_WRITE;
#define DENY_WRITE_EXECUTE                                                                         \
	LOAD(args[2]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),                \
		IF(BPF_JEQ, PROT_WRITE | PROT_EXEC, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS),       \
		RETURN(SECCOMP_RET_ALLOW)
	CHECK_EQ(FILTER(&map, DENY_WRITE_EXECUTE), CT_SECCOMP_ALLOWED);
	CHECK_EQ(FILTER(&both, DENY_WRITE_EXECUTE), CT_SECCOMP_KILLS);
	both.args[2] = UINT64_C(0x123456789);
	CHECK_EQ(FILTER(&both,
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
				 offsetof(struct seccomp_data, args[2]) + 4),
			IF(BPF_JEQ, 1, 0, 3), LOAD(args[2]), IF(BPF_JEQ, 0x23456789, 0, 1),
			RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS)),
		 CT_SECCOMP_ALLOWED);
}

TEST(test_unknown_arguments_may_be_anything)
{
	CHECK_EQ(FILTER(&map, LOAD(args[3]), IF(BPF_JEQ, 17, 0, 1),
			RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_FAILS);
	CHECK_EQ(FILTER(&map, LOAD(args[3]), IF(BPF_JEQ, 17, 1, 0),
			RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_KILLS);
	CHECK_EQ(FILTER(&map, LOAD(instruction_pointer), BPF_STMT(BPF_RET | BPF_A, 0)),
		 CT_SECCOMP_KILLS);
	/* What is kept of it, too, and what is computed with it. */
	CHECK_EQ(FILTER(&map, LOAD(args[0]), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 0),
			BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
			IF(BPF_JEQ, 0, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS),
			RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_KILLS);
}

/* Starts with A at 12 and X at 5. */
static uint32_t computed(unsigned short code, uint32_t k)
{
	const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_IMM, 5),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_IMM, 12),
		{ code, 0, 0, k },
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_MISC | BPF_TXA, 0),
		BPF_STMT(BPF_STX, 15),
		BPF_STMT(BPF_LD | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_MEM, 15),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
	};
	const size_t n = sizeof(program) / sizeof(*program);
	struct sock_filter all[sizeof(program) / sizeof(*program) + 3];

	/* Which value it is: asked bit by bit. */
	uint32_t value = 0;

	for (unsigned bit = 0; bit < 16; bit++) {
		memcpy(all, program, sizeof(program));
		all[n] = (struct sock_filter)IF(BPF_JSET, 1u << bit, 0, 1);
		all[n + 1] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
		all[n + 2] = (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS);
		value |= ct_seccomp_run(all, n + 3, &map) == CT_SECCOMP_ALLOWED ? 1u << bit : 0;
	}
	return value;
}

TEST(test_operations)
{
	CHECK_EQ(computed(BPF_ALU | BPF_ADD | BPF_K, 3), 15);
	CHECK_EQ(computed(BPF_ALU | BPF_SUB | BPF_X, 0), 7);
	CHECK_EQ(computed(BPF_ALU | BPF_MUL | BPF_X, 0), 60);
	CHECK_EQ(computed(BPF_ALU | BPF_DIV | BPF_X, 0), 2);
	CHECK_EQ(computed(BPF_ALU | BPF_DIV | BPF_K, 0), 0);
	CHECK_EQ(computed(BPF_ALU | BPF_AND | BPF_K, 6), 4);
	CHECK_EQ(computed(BPF_ALU | BPF_OR | BPF_K, 3), 15);
	CHECK_EQ(computed(BPF_ALU | BPF_XOR | BPF_X, 0), 9);
	CHECK_EQ(computed(BPF_ALU | BPF_LSH | BPF_K, 2), 48);
	CHECK_EQ(computed(BPF_ALU | BPF_RSH | BPF_K, 1), 6);
	CHECK_EQ(computed(BPF_ALU | BPF_NEG, 0), 0xfff4);
	CHECK_EQ(computed(BPF_LD | BPF_W | BPF_LEN, 0), sizeof(struct seccomp_data));
	CHECK_EQ(computed(BPF_JMP | BPF_JA, 0), 12);
}

TEST(test_what_the_kernel_refuses_is_not_judged)
{
	static struct sock_filter ways[4096];

	CHECK_EQ(ct_seccomp_run(ways, 0, &map), CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, LOAD(nr)), CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, IF(BPF_JEQ, 0, 200, 200), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0x2a000020),
			RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, BPF_STMT(BPF_ST, 16), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, BPF_STMT(BPF_LD | BPF_MEM, 1u << 31), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	CHECK_EQ(FILTER(&map, BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0), RETURN(SECCOMP_RET_ALLOW)),
		 CT_SECCOMP_UNJUDGED);
	/* Two ways at each of them. */
	ways[0] = (struct sock_filter)LOAD(args[0]);
	for (unsigned i = 1; i < 4095; i++)
		ways[i] = (struct sock_filter)IF(BPF_JEQ, i, 0, 1);
	ways[4095] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	CHECK_EQ(ct_seccomp_run(ways, 4096, &map), CT_SECCOMP_UNJUDGED);
}
