/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall(): libc's function for system calls without a wrapper. Some of them end the process;
 * rt_sigaction is handled as sigaction. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>

#include "hooks/hooks.h"
#include "host/real.h"
#include "session/session.h"
#include "modes/io/hooks/io_hooks.h"
#include "modes/lock/signal/lock_signal.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* Calls by which the program restricts its own system calls: prctl(PR_SET_SECCOMP) and seccomp().
 *
 * Once a filter is active, each system call of the profiler may kill the process, so profiling ends
 * before the filter is set. Calls that the kernel is certain to refuse change nothing and do not
 * end profiling: questions whether seccomp exists, and attempts without the right to use it. In
 * doubt the call counts as one that succeeds. */

/* The kernel requires no new privileges, or CAP_SYS_ADMIN in the caller's own user namespace, which
 * capget reports. */
static bool has_right(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	if (cp_sys5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
		return true;
	return cp_sys2(SYS_capget, &h, d) < 0 ||
	       (d[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN));
}

/* Copy SIZE bytes at P. Returns 0 or a negative errno, also where the process may not read its own
 * memory this way. */
static int copy_of(void *to, const void *p, size_t size)
{
	long err = cp_sys_peek(to, (uint64_t)(uintptr_t)p, size);

	return err < 0 ? (int)err : 0;
}

/* Return true if P may be a valid program. Only the address of the first instruction is checked;
 * the kernel checks all of them. */
static bool is_program(const struct sock_fprog *p)
{
	struct sock_filter first;
	struct sock_fprog copy;
	int err = copy_of(&copy, p, sizeof(copy));

	if (err)
		return p && err != -EFAULT;
	return copy.len && copy.len <= BPF_MAXINSNS &&
	       copy_of(&first, copy.filter, sizeof(first)) != -EFAULT;
}

static bool restricts(unsigned long mode, unsigned long flags, const void *filter)
{
	if (mode == SECCOMP_SET_MODE_STRICT)
		return !flags && !filter;
	return mode == SECCOMP_SET_MODE_FILTER && is_program(filter) && has_right();
}

static void seccomp_begins(unsigned long mode, unsigned long flags, const void *filter)
{
	bool ours;

	cp_process_leave_others();
	ours = cp_profiled_is_this();
	if (!(ours || cp_capture_settings.unwinder) || !restricts(mode, flags, filter))
		return;
	cp_store_relaxed(&cp_capture_settings.restricted, true);
	if (ours)
		cp_session_retire("it restricts its system calls (seccomp)");
}

static void before_call(long number, const long *a)
{
	switch (number) {
	case SYS_exit: cp_process_thread_exit((int)a[0]); break;
	case SYS_exit_group: cp_process_end("at exit_group"); break;
	case SYS_prctl:
		if ((int)a[0] == PR_SET_CHILD_SUBREAPER && a[1])
			cp_process_becomes_subreaper();
		cp_ticks_see_prctl((int)a[0], (unsigned long)a[1]);
		break;
	case SYS_mq_notify:
		if (a[1])
			cp_process_awaits_queue();
		break;
	case SYS_munmap:
	case SYS_mprotect:
		if ((number == SYS_munmap || !(a[2] & PROT_WRITE)) &&
		    cp_altstack_may_be_at((const void *)a[0], (size_t)a[1]) &&
		    !cp_profiled_retired())
			cp_signals_alternate_goes((const void *)a[0], (size_t)a[1]);
		break;
	case SYS_seccomp: seccomp_begins((unsigned)a[0], (unsigned)a[1], (const void *)a[2]); break;
	}
}

/* Return true if the call is a wait. Locks that aren't libc's wait by their own system calls. */
static bool is_wait(long number, const long *a)
{
	if (number == SYS_futex_waitv)
		return true;
	if (number != SYS_futex)
		return false;
	switch ((int)a[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2: return true;
	default: return false;
	}
}

/* Return the futex word of the wait; if the call waits for several, the first. NULL if the kernel
 * can't read the list of them. */
static const void *word_waited_for(long number, const long *a)
{
	struct {
		uint64_t value, address;
	} first;

	if (number == SYS_futex)
		return (const void *)a[0];
	return cp_sys_copy_argument(&first, (const void *)a[0], sizeof(first))
		       ? (const void *)(uintptr_t)first.address
		       : NULL;
}

/* Return true if the call waited. A word that has already changed causes no wait; the other errors
 * indicate misuse. */
static bool has_waited(long result)
{
	return result >= 0 || errno == ETIMEDOUT || errno == EINTR;
}

static enum cp_wakes_how how_ended(long result)
{
	if (result >= 0)
		return CP_WAKES_WOKEN;
	return errno == EINTR ? CP_WAKES_INTERRUPTED : CP_WAKES_TIMED_OUT;
}

static long futex_wait(long number, const long *a)
{
	const void *word = word_waited_for(number, a), *function = (const void *)CP_REAL(syscall);
	struct cp_wakes_wait wake;
	struct cp_lock_wait wait;
	long result;

	cp_lock_event_begin_wait(&wait, word, CP_LOCK_FUTEX);
	cp_lock_wake_wait(&wake, word, wait.began, CP_LOCK_ANY_THREAD);
	result = CP_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!has_waited(result)) {
		cp_wakes_cancel(&wake);
		return result;
	}
	cp_lock_event_waited(&wait, function, false);
	cp_wakes_end(&wake, CP_WAKES_OF_LOCK, how_ended(result), cp_wakes_key(word), function);
	return result;
}

/* Return how many threads the call may wake that wait for its futex; 0: it wakes none. */
static uint32_t futex_wakes(long number, const long *a)
{
	if (number != SYS_futex)
		return 0;
	switch ((int)a[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE: return a[2] > 0 ? (uint32_t)a[2] : 0;
	default: return 0;
	}
}

/* Return true for calls that change only the calling thread when made by number; see namespace.c.
 */
static bool changes_caller(long number, const long *a)
{
	switch (number) {
	case SYS_close_range: return (a[2] & CLOSE_RANGE_UNSHARE) != 0;
	case SYS_capset:
	case SYS_setgid:
	case SYS_setgroups:
	case SYS_setns:
	case SYS_setregid:
	case SYS_setresgid:
	case SYS_setresuid:
	case SYS_setreuid:
	case SYS_setuid:
	case SYS_unshare: return true;
	default: return false;
	}
}

/* Send a signal of a thread to itself through host.h. Returns true if it was sent; see signal.c.
 */
static bool is_sent(long number, const long *a)
{
	switch (number) {
	case SYS_tkill:
		return (int)a[1] == SIGPROF &&
		       cp_send_self_if_prof(cp_sys_getpid(), (pid_t)a[0], (int)a[1]);
	case SYS_tgkill: return cp_send_self_if_prof((pid_t)a[0], (pid_t)a[1], (int)a[2]);
	default: return false;
	}
}

static long call_alone(long number, const long *a)
{
	bool parked = cp_session_park();
	long result;

	result = CP_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	cp_session_unpark(parked);
	return result;
}

/* Does the call make a process? A child on the program's memory needs a stack that only a caller in
 * assembly can give it. */
static bool makes_process(long number, const long *a)
{
	uint64_t flags = CLONE_VM;

	switch (number) {
#ifdef SYS_fork
	case SYS_fork: return true;
#endif
	case SYS_clone: return !(a[0] & CLONE_VM);
#ifdef SYS_clone3
	case SYS_clone3:
		return cp_sys_copy_argument(&flags, (const void *)a[0], sizeof(flags)) &&
		       !(flags & CLONE_VM);
#endif
	default: return false;
	}
}

/* Make a process by fork or clone as the interposed functions do; see fork.c. */
static long make_process(long number, const long *a)
{
	long result = CP_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	int saved = errno;

	if (result == -1 && cp_process_gives_way(saved)) {
		result = CP_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
		saved = errno;
		if (result)
			cp_process_thread_created();
	}
	errno = saved;
	return result;
}

/* rt_sigaction without libc's wrapper. Programs reset all signals this way between fork and exec
 * (Chromium does, in every child). A child's timers exist by then, so the default action of SIGPROF
 * would end the child.
 */

#define PAGE UINT64_C(4096)

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000ul /* the flag's value in the kernel */
#endif

/* Return false if P can't be read; the kernel then refuses the call. */
static bool can_be_read(const void *p)
{
	uint64_t first = (uint64_t)(uintptr_t)p, last = first + sizeof(struct cp_sys_sigaction) - 1;

	return !p || (first >= PAGE && last >= first && cp_stackmem_probe(first) &&
		      cp_stackmem_probe(last));
}

/* Convert to libc's struct, which has a longer mask and no restorer but libc's. */
static struct sigaction from_kernel(const struct cp_sys_sigaction *k)
{
	struct sigaction s;

	memset(&s, 0, sizeof(s));
	s.sa_handler = k->handler;
	s.sa_flags = (int)k->flags;
	memcpy(&s.sa_mask, &k->mask, sizeof(k->mask));
	return s;
}

/* Convert to the kernel's struct. TO comes from the kernel, and its restorer, libc's, stays. */
static void to_kernel(struct cp_sys_sigaction *to, const struct sigaction *s)
{
	to->flags = (unsigned)s->sa_flags | (to->flags & SA_RESTORER);
	to->handler = s->sa_handler;
	memcpy(&to->mask, &s->sa_mask, sizeof(to->mask));
}

static long refuse_address(void)
{
	errno = EFAULT;
	return -1;
}

/* Handle rt_sigaction with arguments A where the signal's handler is the profiler's: do what libc's
 * sigaction does for the program, and set *RESULT to the result of syscall, with errno. Returns
 * false if the handler is not the profiler's or A is wrong; the caller must then make the system
 * call. Async-signal-safe. */
static bool raw_sigaction(const long *a, long *result)
{
	const struct cp_sys_sigaction *act = (const void *)a[1];
	struct cp_sys_sigaction *old = (void *)a[2];
	struct sigaction to, from;
	int sig = (int)a[0];

	if (a[3] != sizeof(act->mask) || !can_be_read(act))
		return false;
	if (act && (act->mask & CP_SIGBIT(SIGPROF)))
		cp_handler_mask_hidden();
	if (!cp_signals_are_ours(sig))
		return false;
	if (act)
		to = from_kernel(act);
	*result = old && cp_sys_sigaction(sig, NULL, old) < 0
			  ? refuse_address()
			  : cp_signals_sigaction(sig, act ? &to : NULL, &from);
	if (!*result && old)
		to_kernel(old, &from);
	return true;
}

INTERPOSE long syscall(long number, ...)
{
	long a[6], result;
	va_list ap;

	/* Arguments that the caller didn't pass are read as garbage and passed on, as libc's own
	 * syscall does. */
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_execve)
		return execve((const char *)a[0], (char *const *)a[1], (char *const *)a[2]);
	if (number == SYS_execveat)
		return execveat((int)a[0], (const char *)a[1], (char *const *)a[2],
				(char *const *)a[3], (int)a[4]);
	if (cp_load_relaxed(&cp_lock_on) && is_wait(number, a))
		return futex_wait(number, a);
	if (futex_wakes(number, a) && cp_lock_wake_is_awaited((const void *)a[0]))
		cp_lock_wake((const void *)a[0], futex_wakes(number, a),
			     (const void *)CP_REAL(syscall), NULL, CP_LOCK_ANY_THREAD);
	if (cp_load_relaxed(&cp_io_active) && calls_by_number(number, a, &result))
		return result;
	if (changes_caller(number, a))
		return call_alone(number, a);
	if (is_sent(number, a))
		return 0;
	if (number == SYS_sigaltstack)
		return cp_signal_altstack((const stack_t *)a[0], (stack_t *)a[1]);
	if (number == SYS_ptrace && a[0] == PTRACE_TRACEME)
		return ptrace(PTRACE_TRACEME, a[1], a[2], a[3]);
	if (number == SYS_prctl && cp_dispatch_is((int)a[0]))
		return cp_dispatch_prctl((const unsigned long *)&a[1]);
	if (number == SYS_rt_sigaction && raw_sigaction(a, &result))
		return result;
	before_call(number, a);
	if (makes_process(number, a))
		return make_process(number, a);
	return CP_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Return true for options that affect setuid, setgroups and the like. */
static bool changes_privileges(int option)
{
	return option == PR_SET_KEEPCAPS || option == PR_SET_SECUREBITS ||
	       option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT;
}

static int prctl_alone(int option, const unsigned long *a)
{
	bool parked = cp_session_park();
	int result;

	result = CP_REAL(prctl)(option, a[0], a[1], a[2], a[3]);
	cp_session_unpark(parked);
	return result;
}

INTERPOSE int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT)
		seccomp_begins(SECCOMP_SET_MODE_STRICT, 0, NULL);
	else if (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_FILTER)
		seccomp_begins(SECCOMP_SET_MODE_FILTER, 0, (const void *)a[1]);
	else if (option == PR_SET_CHILD_SUBREAPER && a[0])
		cp_process_becomes_subreaper();
	cp_ticks_see_prctl(option, a[0]);
	if (cp_dispatch_is(option))
		return cp_dispatch_prctl(a);
	if (changes_privileges(option))
		return prctl_alone(option, a);
	return CP_REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}
