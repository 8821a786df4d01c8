/* SPDX-License-Identifier: BSD-3-Clause */
/* Would the filters of a process's system calls (seccomp) let the library live there? See attach.h.
 * They are read from a stopped thread and run here, for each call that attach and the library make.
 * An argument that isn't known beforehand may be anything: where a filter asks for it, both ways
 * are followed. The filters are the process's, so nothing in them is believed. */
#include "attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel's limit for all filters of a thread is 32,768 instructions. */
#define CODE_MAX 65536u
/* So many instructions are run for a call. */
#define STEPS_MAX 100000u
/* The instruction in front of each filter of a list. */
#define FILTER_BEGINS 0xffff

/* clang-format off */
#define TRIED(call) { #call, SYS_##call, CT_SECCOMP_FAILS, 0, { 0 } }
#define NEEDED(call) { #call, SYS_##call, CT_SECCOMP_ALLOWED, 0, { 0 } }
/* KNOWN has a bit for each argument that is known. */
#define WITH(call, bears, known, ...) { #call, SYS_##call, CT_SECCOMP_##bears, known, { __VA_ARGS__ } }
/* clang-format on */
#define THREAD                                                                                     \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |         \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* What attach and libc's pthread_create and dlopen call, and what the library calls by itself where
 * it knows of a filter. tests/e2e/attach-filtered.sh has a process that may make no other calls. */
static const struct ct_seccomp_call calls[] = {
	NEEDED(restart_syscall), NEEDED(rt_sigreturn), NEEDED(rt_sigaction), NEEDED(rt_sigpending),
	NEEDED(rt_sigprocmask), NEEDED(sigaltstack), NEEDED(gettid), NEEDED(nanosleep),
	NEEDED(futex), NEEDED(exit), NEEDED(read), NEEDED(close),
	/* Where there is no clone3, libc takes clone. */
	WITH(clone3, ABSENT, 0, 0), WITH(clone, ALLOWED, 1, THREAD | CLONE_SYSVSEM),
	WITH(clone, ALLOWED, 1, THREAD), WITH(clone, FAILS, 1, CLONE_VM | CLONE_VFORK | SIGCHLD),
	WITH(clone, FAILS, 1, CLONE_VM | CLONE_UNTRACED | CLONE_CHILD_CLEARTID),
	WITH(mmap, ALLOWED, 4, 0, 0, PROT_READ), WITH(mmap, ALLOWED, 4, 0, 0, PROT_NONE),
	WITH(mmap, ALLOWED, 4, 0, 0, PROT_READ | PROT_WRITE),
	WITH(mmap, ALLOWED, 4, 0, 0, PROT_READ | PROT_EXEC),
	WITH(mprotect, ALLOWED, 4, 0, 0, PROT_READ), WITH(mprotect, FAILS, 4, 0, 0, PROT_NONE),
	WITH(mprotect, ALLOWED, 4, 0, 0, PROT_READ | PROT_WRITE),
	WITH(openat, ALLOWED, 4, 0, 0, O_RDONLY | O_CLOEXEC),
	WITH(socket, ALLOWED, 7, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
	NEEDED(bind), NEEDED(listen), NEEDED(accept4), NEEDED(recvmsg), NEEDED(sendmsg),
	WITH(ioctl, FAILS, 2, 0, TCGETS), WITH(kill, FAILS, 2, 0, 0),
	WITH(fchmod, FAILS, 2, 0, 0600), TRIED(arch_prctl), TRIED(brk), TRIED(capget), TRIED(chdir),
	TRIED(clock_getres), TRIED(clock_gettime), TRIED(clock_nanosleep), TRIED(close_range),
	TRIED(connect), TRIED(dup3), TRIED(execve), TRIED(exit_group), TRIED(faccessat),
	TRIED(faccessat2), TRIED(fcntl), TRIED(flock), TRIED(fstat), TRIED(fstatfs), TRIED(fsync),
	TRIED(get_robust_list), TRIED(getcwd), TRIED(getdents64), TRIED(getegid), TRIED(geteuid),
	TRIED(getgroups), TRIED(getpeername), TRIED(getpid), TRIED(getppid), TRIED(getrandom),
	TRIED(getresgid), TRIED(getresuid), TRIED(getrusage), TRIED(getsockopt), TRIED(getuid),
	TRIED(getxattr), TRIED(linkat), TRIED(madvise), TRIED(memfd_create), TRIED(munmap),
	TRIED(newfstatat), TRIED(openat), TRIED(ppoll), TRIED(prctl), TRIED(pread64),
	TRIED(prlimit64), TRIED(process_vm_readv), TRIED(process_vm_writev), TRIED(readlinkat),
	TRIED(renameat), TRIED(renameat2), TRIED(rseq), TRIED(rt_sigtimedwait),
	TRIED(rt_tgsigqueueinfo), TRIED(sched_getaffinity), TRIED(sched_getscheduler),
	TRIED(sched_yield), TRIED(set_robust_list), TRIED(setitimer), TRIED(setsid), TRIED(statx),
	TRIED(tgkill), TRIED(timer_create), TRIED(timer_delete), TRIED(timer_settime), TRIED(uname),
	TRIED(unlinkat), TRIED(wait4), TRIED(write)
};

/* Only if a real-time thread makes ours. */
static const struct ct_seccomp_call ordinary = WITH(sched_setscheduler, FAILS, 2, 0, SCHED_OTHER);

/* ---- the interpreter ---- */

/* A value that may be anything isn't KNOWN. */
struct word {
	uint32_t value;
	bool known;
};

struct machine {
	struct word a, x, memory[BPF_MEMWORDS];
};

static enum ct_seccomp_verdict verdict_of(uint32_t result)
{
	switch (result & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG: return CT_SECCOMP_ALLOWED;
	case SECCOMP_RET_ERRNO:
		return (result & SECCOMP_RET_DATA) == ENOSYS ? CT_SECCOMP_ABSENT : CT_SECCOMP_FAILS;
	default: return CT_SECCOMP_KILLS;
	}
}

/* Returns the word at OFFSET of the kernel's struct seccomp_data. */
static struct word load(const struct ct_seccomp_call *call, uint32_t offset)
{
	const uint32_t args = offsetof(struct seccomp_data, args);
	unsigned i = offset < args ? 0 : (offset - args) / 8;

	if (offset == offsetof(struct seccomp_data, nr))
		return (struct word){ (uint32_t)call->number, true };
	if (offset == offsetof(struct seccomp_data, arch))
		return (struct word){ AUDIT_ARCH_X86_64, true };
	if (offset < args || !(call->known >> i & 1))
		return (struct word){ 0, false };
	return (struct word){ (uint32_t)(call->args[i] >> (offset % 8 * 8)), true };
}

/* Returns whether OP is an operation that the kernel has. */
static bool compute(unsigned op, struct word *a, struct word b)
{
	a->known = a->known && b.known;
	switch (op) {
	case BPF_ADD: a->value += b.value; break;
	case BPF_SUB: a->value -= b.value; break;
	case BPF_MUL: a->value *= b.value; break;
	case BPF_DIV: a->value = b.value ? a->value / b.value : 0; break;
	case BPF_AND: a->value &= b.value; break;
	case BPF_OR: a->value |= b.value; break;
	case BPF_XOR: a->value ^= b.value; break;
	case BPF_LSH: a->value <<= b.value & 31; break;
	case BPF_RSH: a->value >>= b.value & 31; break;
	case BPF_NEG: a->value = -a->value; break;
	default: return false;
	}
	return true;
}

static bool jumps(unsigned op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	default: return a & b;
	}
}

/* Runs an instruction that is neither a jump nor a return. Returns false if it is none of the
 * kernel's. */
static bool step(const struct sock_filter *i, const struct ct_seccomp_call *call, struct machine *m)
{
	const struct word k = { i->k, true };
	struct word *cell = i->k < BPF_MEMWORDS ? &m->memory[i->k] : NULL;

	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (i->k >= sizeof(struct seccomp_data) || i->k % 4)
			return false;
		m->a = load(call, i->k);
		break;
	case BPF_LD | BPF_W | BPF_LEN:
		m->a = (struct word){ sizeof(struct seccomp_data), true };
		break;
	case BPF_LDX | BPF_W | BPF_LEN:
		m->x = (struct word){ sizeof(struct seccomp_data), true };
		break;
	case BPF_LD | BPF_IMM: m->a = k; break;
	case BPF_LDX | BPF_IMM: m->x = k; break;
	case BPF_LD | BPF_MEM: m->a = cell ? *cell : m->a; return cell;
	case BPF_LDX | BPF_MEM: m->x = cell ? *cell : m->x; return cell;
	case BPF_ST: *(cell ? cell : &m->a) = m->a; return cell;
	case BPF_STX: *(cell ? cell : &m->x) = m->x; return cell;
	case BPF_MISC | BPF_TAX: m->x = m->a; break;
	case BPF_MISC | BPF_TXA: m->a = m->x; break;
	default:
		return BPF_CLASS(i->code) == BPF_ALU &&
		       compute(BPF_OP(i->code), &m->a, BPF_SRC(i->code) == BPF_X ? m->x : k);
	}
	return true;
}

/* Returns the worst verdict that instructions CODE[AT] on may have. Jumps go forward only, so this
 * ends. */
static enum ct_seccomp_verdict run(const struct sock_filter *code, size_t count, size_t at,
				   const struct ct_seccomp_call *call, struct machine m,
				   unsigned *steps)
{
	for (; at < count && *steps; at++) {
		const struct sock_filter *i = &code[at];
		const struct word b = BPF_SRC(i->code) == BPF_X ? m.x : (struct word){ i->k, true };

		--*steps;
		switch (BPF_CLASS(i->code)) {
		case BPF_RET:
			if (BPF_RVAL(i->code) == BPF_K)
				return verdict_of(i->k);
			return m.a.known ? verdict_of(m.a.value) : CT_SECCOMP_KILLS;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA) {
				at += i->k;
			} else if (m.a.known && b.known) {
				at += jumps(BPF_OP(i->code), m.a.value, b.value) ? i->jt : i->jf;
			} else {
				enum ct_seccomp_verdict one, other;

				one = run(code, count, at + 1 + i->jt, call, m, steps);
				other = run(code, count, at + 1 + i->jf, call, m, steps);
				return one > other ? one : other;
			}
			break;
		default:
			if (!step(i, call, &m))
				return CT_SECCOMP_UNJUDGED;
		}
	}
	return CT_SECCOMP_UNJUDGED;
}

enum ct_seccomp_verdict ct_seccomp_run(const struct sock_filter *code, size_t count,
				       const struct ct_seccomp_call *call)
{
	unsigned steps = STEPS_MAX;

	return run(code, count, 0, call, (struct machine){ .memory = { { 0, true } } }, &steps);
}

/* ---- the filters of a thread ---- */

/* Returns the worst verdict of all FILTERS. */
static enum ct_seccomp_verdict run_all(const struct ct_seccomp *filters,
				       const struct ct_seccomp_call *call)
{
	enum ct_seccomp_verdict worst = CT_SECCOMP_ALLOWED;

	for (size_t at = 0; at < filters->count; at += 1 + filters->code[at].k) {
		enum ct_seccomp_verdict one =
			ct_seccomp_run(filters->code + at + 1, filters->code[at].k, call);

		worst = one > worst ? one : worst;
	}
	return worst;
}

int ct_seccomp_read(struct ct_seccomp *to, int tid)
{
	to->count = 0;
	for (uintptr_t index = 0;; index++) {
		long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, index, NULL);
		struct sock_filter *begin;

		if (n < 0)
			return errno == ENOENT ? 0 : -errno;
		if (n > BPF_MAXINSNS || to->count > CODE_MAX)
			return -E2BIG;
		*CT_PUSH(to->code, to->count, to->room) =
			(struct sock_filter){ .code = FILTER_BEGINS, .k = (uint32_t)n };
		for (long i = 0; i < n; i++)
			*CT_PUSH(to->code, to->count, to->room) = (struct sock_filter){ 0 };
		begin = to->code + to->count - n;
		if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, index, begin) != n)
			return -errno;
	}
}

bool ct_seccomp_same(const struct ct_seccomp *a, const struct ct_seccomp *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->code, b->code, a->count * sizeof(*a->code)));
}

bool ct_seccomp_restarts(const struct ct_seccomp *filters)
{
	return run_all(filters, &calls[0]) == CT_SECCOMP_ALLOWED;
}

static char *judge(int pid, const struct ct_seccomp *filters, const struct ct_seccomp_call *call)
{
	enum ct_seccomp_verdict verdict = run_all(filters, call);

	if (verdict <= call->bears)
		return NULL;
	if (verdict == CT_SECCOMP_UNJUDGED)
		return ct_memory_printf("process %d has a seccomp filter that can't be judged: "
					"start it with \"cprof run\"",
					pid);
	return ct_memory_printf(
		"process %d has a seccomp filter that %s the system call %s, which %s: allow it "
		"there "
		"(systemd: SystemCallFilter=, Docker: --security-opt seccomp=FILE)",
		pid, verdict == CT_SECCOMP_KILLS ? "kills or stops it for" : "refuses", call->name,
		call->bears == CT_SECCOMP_FAILS ? "the library makes" : "attach needs");
}

char *ct_seccomp_judge(int pid, const struct ct_seccomp *filters, bool realtime)
{
	char *why = realtime ? judge(pid, filters, &ordinary) : NULL;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && !why; i++)
		why = judge(pid, filters, &calls[i]);
	return why;
}

/* ---- before a thread is stopped ---- */

bool ct_seccomp_filtered(int pid)
{
	return ct_proc_number(pid, "Seccomp", 10) > 0;
}

static bool may_read(void)
{
	int self = getpid();

	return ct_proc_number(self, "CapEff", 16) >> CAP_SYS_ADMIN & 1 &&
	       !ct_seccomp_filtered(self);
}

char *ct_seccomp_unread(int pid)
{
	return ct_memory_printf(
		"process %d has a seccomp filter, which might kill it for a system call of the "
		"library. Only root may read what it does, outside of a container: \"sudo cprof "
		"attach %d\"",
		pid, pid);
}

/* Do threads of PID have other filters than main? A filter is never taken away, and a new thread
 * has its maker's, so those with as many as main have main's. */
static bool differ(int pid)
{
	long mode = ct_proc_number(pid, "Seccomp", 10),
	     number = ct_proc_number(pid, "Seccomp_filters", 10);
	int *tids = NULL;
	size_t room = 0;
	unsigned count = ct_proc_threads(pid, &tids, &room);
	bool found = mode > 0 && number < 0 && count > 1;

	for (unsigned i = 0; i < count && !found; i++) {
		long its_mode = ct_proc_number(tids[i], "Seccomp", 10),
		     its_number = ct_proc_number(tids[i], "Seccomp_filters", 10);

		/* One that has ended has neither. */
		found = (its_mode >= 0 && its_mode != mode) ||
			(its_number >= 0 && its_number != number);
	}
	free(tids);
	return found;
}

char *ct_seccomp_refuse(int pid)
{
	if (differ(pid))
		return ct_memory_printf("process %d: its threads have different seccomp filters; "
					"start it with \"cprof run\"",
					pid);
	if (ct_proc_number(pid, "Seccomp", 10) == 1)
		return ct_memory_printf("process %d may only read, write and end (strict seccomp)",
					pid);
	return ct_seccomp_filtered(pid) && !may_read() ? ct_seccomp_unread(pid) : NULL;
}
