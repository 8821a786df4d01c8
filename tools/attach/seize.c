/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a thread that holds nothing of libc's, and lets it go on in our code; see attach.h. One
 * thread at a time is stopped, and only while it is judged. If this program is killed in between,
 * the kernel lets the thread go on as it is. */
#include "attach/attach.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_SECONDS 10
/* Stack that pthread_create and the program's malloc may need. */
#define ROOM 49152u
/* The kernel keeps so much free below a stack that grows. */
#define STACK_GAP 1048576u
/* So many threads are looked at before a pause of a millisecond. */
#define TOGETHER 64u
/* While there are others, the main thread is left alone for so many rounds: signals go to it first.
 */
#define ROUNDS_FOR_OTHERS 10u
/* So many reads of memory that take longer are a bad sign; a stop that does ends. */
#define GLANCES 4u
/* So many times a thread is stopped in a round, because pages of tables or code weren't read yet.
 */
#define TIMES_MOST 8u
#define BUSY_SECONDS 0.00005
#define PATIENCE_SECONDS 0.0005

/* glibc's own signals. While setuid() waits for all threads to handle the second, it holds a lock
 * that pthread_create takes. */
#define CANCEL (UINT64_C(1) << 31)
#define SETXID (UINT64_C(1) << 32)

#define RESTARTSYS (-512)
#define RESTARTNOINTR (-513)
#define RESTARTNOHAND (-514)
#define RESTARTBLOCK (-516)

/* ---- a stopped thread ---- */

struct stopped {
	int tid;
	struct user_regs_struct regs;
	uint64_t mask;
	double since; /* when it had stopped */
};

/* Is a signal waiting that would end a system call, by a handler? A thread that is traced even has
 * those that are ignored. */
static bool has_signal(const struct ct_hunt *h, const struct stopped *t)
{
	uint64_t counts = h->caught & ~t->mask;
	siginfo_t found[16];

	for (unsigned shared = 0; shared < 2; shared++) {
		struct __ptrace_peeksiginfo_args how = { .flags = shared ? PTRACE_PEEKSIGINFO_SHARED
									 : 0,
							 .nr = 16 };
		long n = ptrace(PTRACE_PEEKSIGINFO, t->tid, &how, found);

		for (long i = 0; i < n; i++)
			if (found[i].si_signo > 0 && counts >> (found[i].si_signo - 1) & 1)
				return true;
	}
	return false;
}

static bool at_system_call(const struct ct_hunt *h, const struct stopped *t)
{
	unsigned char code[2] = { 0, 0 };

	return (long)t->regs.orig_rax >= 0 && ct_space_code_at(h->s, t->regs.rip - 2) &&
	       ct_space_read_fixed(h->s, t->regs.rip - 2, code, 2) && code[0] == 0x0f &&
	       code[1] == 0x05;
}

/* Some system calls end with EINTR by the stop alone; others are continued by restart_syscall, for
 * which a filter may kill. Makes the thread begin it again, with its whole time: a wait may last
 * longer than it was asked to, but not shorter. Returns whether the registers were changed. */
static bool begin_again(const struct ct_hunt *h, struct stopped *t)
{
	struct user_regs_struct *r = &t->regs;
	long result = (long)r->rax;
	bool forbidden = result == RESTARTBLOCK && !ct_seccomp_restarts(&h->filters);

	if ((result != -EINTR && !forbidden) || !at_system_call(h, t) || r->orig_rax == SYS_close ||
	    r->orig_rax == SYS_connect || r->orig_rax == SYS_rt_sigreturn || has_signal(h, t))
		return false;
	r->rip -= 2;
	r->rax = r->orig_rax;
	r->orig_rax = ~UINT64_C(0);
	return true;
}

/* Is every frame of U known to hold nothing of libc's? *WITHIN: the function of libc that the
 * thread waits in, or 0. */
static bool frames_are_safe(const struct ct_hunt *h, const struct ct_unwind *u, uint64_t *within)
{
	unsigned count = u->count, top = 0;
	const struct ct_space_module *outermost =
		ct_space_code_at(h->s, u->pc[count ? count - 1 : 0]);
	bool is_main = count && h->s->program != CT_SPACE_NONE &&
		       outermost == &h->s->modules[h->s->program];

	count -= is_main;
	/* clone3, start_thread; or __libc_start_main, __libc_start_call_main. */
	if (count < 3 || u->kind[count - 1] != CT_SPACE_LIBC ||
	    u->kind[count - 2] != CT_SPACE_LIBC ||
	    (is_main && u->begin[count - 1] != h->start_main))
		return false;
	count -= 2;
	while (top < count && u->kind[top] == CT_SPACE_LIBC)
		top++;
	if (top == count)
		return false;
	for (unsigned i = top; i < count; i++)
		if (u->kind[i] != CT_SPACE_PROGRAM)
			return false;
	*within = top ? u->begin[top - 1] : 0;
	return true;
}

/* Are the tables that were read before still those of the modules in memory? Each read of memory
 * waits for those threads of the process that change its mappings, so there are few. */
static bool modules_are_there(struct ct_hunt *h, const struct ct_unwind *u)
{
	for (unsigned i = 0; i < u->count; i++) {
		const struct ct_space_module *m = ct_space_code_at(h->s, u->pc[i]);
		unsigned char now[48], then[48];

		if (m == &h->s->modules[h->s->libc] || m == &h->s->modules[h->s->program] ||
		    (i && m == ct_space_code_at(h->s, u->pc[i - 1])))
			continue;
		if (!ct_space_read_soon(h->s, m->eh_frame_hdr, now, sizeof(now)) ||
		    !ct_space_read_fixed(h->s, m->eh_frame_hdr, then, sizeof(then)) ||
		    memcmp(now, then, sizeof(now)) != 0)
			return false;
	}
	return true;
}

/* May the innermost frame be at a safe place? This is asked first, because it needs no memory. */
static bool leaf_is_safe(const struct ct_hunt *h, const struct stopped *t,
			 const struct ct_hunt_wait *w)
{
	const struct ct_space_module *m = ct_space_code_at(h->s, t->regs.rip);
	long result = (long)t->regs.rax;

	if (!m || (h->s->program_allocates && (!w || !w->io)))
		return false;
	if (m->kind == CT_SPACE_LIBC)
		return w && ((result <= RESTARTSYS && result >= RESTARTBLOCK) ||
			     (result == -EINTR && w->eintr));
	return m->kind == CT_SPACE_PROGRAM && (long)t->regs.orig_rax < 0;
}

/* Has the stack ROOM below RSP? The part of main's that was never used isn't there yet. */
static bool has_stack(const struct ct_hunt *h, uint64_t rsp)
{
	const struct ct_space_map *stack = ct_space_map_at(h->s, rsp);
	uint64_t start = stack ? stack->start : 0, least;

	if (!stack || stack->prot[1] != 'w')
		return false;
	if (stack->grows && stack > h->s->maps) {
		least = stack[-1].end + STACK_GAP;
		if (h->main_stack < stack->end - least)
			least = stack->end - h->main_stack;
		start = least < start ? least : start;
	}
	return rsp - start >= ROOM;
}

/* Is the stack of T that with which it began? libc has a thread's own data at the stack's end, but
 * main's elsewhere. On one that the program has made, as for coroutines, nothing tells where it
 * ends. */
static bool is_own_stack(const struct ct_hunt *h, const struct stopped *t)
{
	const struct ct_space_map *stack = ct_space_map_at(h->s, t->regs.rsp);

	if (!stack || t->tid == h->s->pid)
		return stack && stack->grows;
	return t->regs.fs_base - stack->start < stack->end - stack->start;
}

/* How far may the main thread's stack grow? If it can't when it has to, the process dies: so not
 * where the memory is limited otherwise. */
static uint64_t main_stack_limit(int pid)
{
	struct rlimit stack, all;

	if (prlimit(pid, RLIMIT_STACK, NULL, &stack) || prlimit(pid, RLIMIT_AS, NULL, &all) ||
	    all.rlim_cur != RLIM_INFINITY || ct_proc_number(pid, "VmLck", 10) > 0)
		return 0;
	return stack.rlim_cur;
}

/* Is thread T at a place where it can call pthread_create? Prepares how it goes on afterwards. */
static bool is_safe(struct ct_hunt *h, struct stopped *t, enum ct_code_call *call)
{
	struct user_regs_struct *r = &t->regs;
	bool in_call = at_system_call(h, t);
	uint64_t within = 0;
	struct ct_unwind u;
	const struct ct_hunt_wait *w = in_call ? ct_hunt_wait((long)r->orig_rax) : NULL;

	if (!leaf_is_safe(h, t, w) || ct_hunt_is_parent(h, t->tid) || r->cs != 0x33)
		return false;
	if (!has_stack(h, r->rsp)) {
		h->cramped = true;
		return false;
	}
	if (!ct_unwind(h->s, r, &u)) {
		if (h->s->wanted)
			return false;
		h->lost = is_own_stack(h, t) ? u.lost : h->lost;
		h->elsewhere |= !is_own_stack(h, t);
		return false;
	}
	if (!frames_are_safe(h, &u, &within) || !modules_are_there(h, &u)) {
		h->elsewhere |= !is_own_stack(h, t);
		return false;
	}
	*call = CT_CODE_PLAIN;
	if (!within)
		return true;
	if (!ct_hunt_allows(h, within, w))
		return false;
	switch ((long)r->rax) {
	case RESTARTSYS: *call = CT_CODE_RESTARTS; break;
	case RESTARTNOINTR: break;
	case RESTARTNOHAND: *call = CT_CODE_UNHANDLED; break;
	case RESTARTBLOCK: *call = CT_CODE_CONTINUES; break;
	default:
		/* An epoll_wait that a signal has ended is left alone. */
		if (!w->eintr || !begin_again(h, t))
			return false;
		*call = CT_CODE_UNHANDLED;
		return true;
	}
	r->rip -= 2;
	r->rax = r->orig_rax;
	return true;
}

/* Lets T go on in our code, which saves and restores all by itself. From the first change on, the
 * order is such that this program may be killed at any moment. */
static bool set_off(const struct ct_hunt *h, const struct stopped *t, enum ct_code_call call)
{
	const struct ct_code_lent lent = { .rip = t->regs.rip, .mask = t->mask, .call = call };
	struct user_regs_struct r = t->regs;
	uint64_t mask = ~SETXID | (t->mask & SETXID);

	if (!ct_space_write_soon(h->s, h->words + offsetof(struct ct_code_words, lent), &lent,
				 sizeof(lent)))
		return false;
	r.rip = h->code + ct_code_entry;
	r.orig_rax = ~UINT64_C(0);
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r))
		return false;
	ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
	return true;
}

/* ---- the hunt ---- */

/* Lets T go on as it was. A signal SIG that the stop came upon is its. */
static void let_go(const struct ct_hunt *h, struct stopped *t, int sig)
{
	bool handled = sig && h->caught >> (sig - 1) & 1;

	/* The registers in T may be prepared already. */
	if (!handled && !ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs) && begin_again(h, t))
		ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(uintptr_t)sig);
}

/* Stops thread TID. Returns false if it isn't stopped by us alone; then it was let go, or is gone.
 */
static bool stop(const struct ct_hunt *h, struct stopped *t)
{
	int status;

	if (ptrace(PTRACE_SEIZE, t->tid, NULL, NULL))
		return false;
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	if (waitpid(t->tid, &status, __WALL) != t->tid || !WIFSTOPPED(status))
		return false;
	t->since = ct_now();
	if (!ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs) &&
	    !ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(t->mask), &t->mask) &&
	    status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
		return true;
	let_go(h, t, status >> 16 ? 0 : WSTOPSIG(status));
	return false;
}

/* Has the process ended, or called exec? */
static bool is_gone(const struct ct_hunt *h)
{
	return !ct_space_read(h->s, h->words, &(uint32_t){ 0 }, 4);
}

/* Notes that TID will be stopped, for a later attach, if this one is killed. Returns true if memory
 * can't be had at once, because other threads change the mappings: it would not be had while the
 * thread is stopped, either. */
static bool is_busy(const struct ct_hunt *h, int tid)
{
	double began = ct_now();
	bool there = ct_space_write(h->s, h->words, &(uint32_t){ (uint32_t)tid }, 4);

	for (unsigned i = 0; there && i < GLANCES; i++)
		there = !is_gone(h) && ct_now() - began < BUSY_SECONDS;
	return !there;
}

/* Are the filters of the stopped thread TID those that were judged? If not, they are kept for it.
 */
static bool filters_are_judged(struct ct_hunt *h, int tid)
{
	struct ct_seccomp now = { 0 };
	int err = h->filtered ? ct_seccomp_read(&now, tid) : 0;
	bool judged = !h->filtered || (!err && h->judged && ct_seccomp_same(&now, &h->filters));

	if (judged || err) {
		free(now.code);
	} else {
		free(h->filters.code);
		h->filters = now;
		h->judged = false;
		h->again = true;
	}
	if (err == -EACCES && !h->refused)
		h->refused = ct_seccomp_unread(h->s->pid);
	return judged;
}

/* Does what takes time, and is needed before thread T is stopped again. */
static void prepare_again(struct ct_hunt *h, const struct stopped *t)
{
	int policy = sched_getscheduler(t->tid);
	struct ct_unwind u;

	if (h->s->wanted) {
		/* The stack may change by now, but the pages for the same way down are read. */
		ct_space_read_fixed(h->s, h->s->wanted, &(char){ 0 }, 1);
		ct_unwind(h->s, &t->regs, &u);
	} else {
		h->refused = ct_seccomp_judge(h->s->pid, &h->filters,
					      policy == SCHED_FIFO || policy == SCHED_RR);
		h->judged = !h->refused;
	}
}

/* Returns whether thread TID was at a safe place; it goes on in our code then, else as it was. If
 * something has to be known for that first, AGAIN is set. A thread that was in malloc isn't tried
 * again at once: on a busy machine it has not run meanwhile, and would lose its turn. */
static bool try_thread(struct ct_hunt *h, int tid)
{
	struct ct_hunt_seen *seen = ct_hunt_seen(h, tid);
	struct stopped t = { .tid = tid };
	enum ct_code_call call = CT_CODE_PLAIN;
	uint64_t where;
	double took;
	bool done;

	h->s->wanted = 0;
	h->again = false;
	ct_space_settle(h->s);
	if (!ct_hunt_may_be_safe(h, seen, &where) || is_busy(h, tid) || !stop(h, &t))
		return false;
	h->result.tid = tid;
	h->result.mask = t.mask;
	h->s->held = true;
	done = filters_are_judged(h, tid) && is_safe(h, &t, &call) &&
	       ct_now() - t.since < PATIENCE_SECONDS && set_off(h, &t, call);
	h->s->held = false;
	h->again = h->again || h->s->wanted;
	if (done) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	} else {
		let_go(h, &t, 0);
		seen->where = h->again || h->s->late ? 0 : where;
		seen->failed = ct_now();
	}
	took = ct_now() - t.since;
	if (took > h->result.held)
		h->result.held = took;
	if (h->again)
		prepare_again(h, &t);
	return done;
}

static bool hunt_round(struct ct_hunt *h, unsigned round, unsigned *next)
{
	static int *tids;
	static size_t room;
	unsigned count = ct_proc_threads(h->s->pid, &tids, &room);
	unsigned looked = count < TOGETHER ? count : TOGETHER;

	h->threads = count;
	h->round = round;
	h->caught = (uint64_t)ct_proc_number(h->s->pid, "SigCgt", 16);
	for (unsigned i = 0; i < looked; i++) {
		int tid = tids[(*next)++ % count];

		if (tid == h->s->pid && count > 1 && round < ROUNDS_FOR_OTHERS)
			continue;
		for (unsigned times = 0; times < TIMES_MOST && !h->refused; times++) {
			if (try_thread(h, tid))
				return true;
			if (!h->again)
				break;
		}
	}
	return false;
}

void ct_seize_progress(const char *what, double seconds, int limit)
{
	char text[80];

	snprintf(text, sizeof(text), "cprof: %s, %.0f of %d s ", what, seconds, limit);
	if (seconds > 1)
		ct_out_guard_progress(text);
}

static void timer_rang(int sig)
{
	(void)sig;
}

/* A stopped thread waits for us alone, so nobody should run before us. Where that isn't allowed, it
 * works as well. Returns the policy before, for end_hurry. */
static int begin_hurry(void)
{
	int policy = sched_getscheduler(0);

	/* A thread that is in the kernel for long doesn't stop: that wait ends by a signal. */
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = timer_rang }, NULL);
	alarm(LIMIT_SECONDS + 1);
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK,
			   &(struct sched_param){ .sched_priority = 1 });
	return policy;
}

static void end_hurry(int policy)
{
	if (policy >= 0)
		sched_setscheduler(0, policy, &(struct sched_param){ 0 });
	alarm(0);
}

char *ct_seize(struct ct_space *s, uint64_t code, uint64_t plan, uint64_t words,
	       struct ct_seized *seized)
{
	struct ct_hunt h = { .s = s, .code = code, .plan = plan, .words = words };
	double until = ct_now() + LIMIT_SECONDS;
	int policy = begin_hurry();
	unsigned next = 0;
	bool done;

	ct_hunt_note_functions(&h);
	h.main_stack = main_stack_limit(s->pid);
	h.filtered = ct_seccomp_filtered(s->pid);
	for (unsigned round = 0; !(done = hunt_round(&h, round, &next)) && !h.refused &&
				 !is_gone(&h) && ct_now() < until;
	     round++) {
		if (round % 64 == 0)
			ct_seize_progress("looking for a thread at a safe place",
					  ct_now() - until + LIMIT_SECONDS, LIMIT_SECONDS);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		ct_space_renew(s);
	}
	ct_out_guard_progress(NULL);
	end_hurry(policy);
	free(h.seen);
	free(h.allowed);
	free(h.filters.code);
	*seized = h.result;
	if (done || h.refused)
		return h.refused;
	if (is_gone(&h))
		return ct_memory_printf("process %d has ended, or has called exec", s->pid);
	if (h.lost)
		return ct_memory_printf(
			"process %d: the stacks of its threads lead through code of %s without "
			"unwind tables, as Go's, so where they are isn't known. Nothing has "
			"changed; start it with \"cprof run\"",
			s->pid, h.lost);
	return ct_memory_printf(
		"process %d: in %d seconds no thread was at a place where it can be "
		"lent: outside of libc, the allocator and signal handlers, or in a "
		"plain wait (poll, read, a condition, pthread_join)%s%s. Nothing has changed; "
		"try again%s, or start it with \"cprof run\"",
		s->pid, LIMIT_SECONDS, h.cramped ? ", and had 48 KiB of its stack left" : "",
		h.elsewhere ? ". Threads are on stacks that the program itself has made, for "
			      "coroutines or fibers, and attach needs one on its own stack"
			    : "",
		h.stale ? " while it is at work (a wait in epoll_wait with a time limit can only "
			  "be interrupted when it has just begun)"
			: "");
}

void ct_seize_unblock(const struct ct_seized *seized)
{
	struct stopped t = { .tid = seized->tid };
	const struct ct_hunt none = { .caught = ~UINT64_C(0) };
	uint64_t mask = seized->mask | CANCEL;

	if (!stop(&none, &t))
		return;
	ptrace(PTRACE_SETSIGMASK, t.tid, (void *)sizeof(mask), &mask);
	ptrace(PTRACE_DETACH, t.tid, NULL, NULL);
}

/* ---- masks ---- */

/* So long a thread is tried again that waits where it would notice a stop, that has a pending
 * sample, or that runs: it may get no processor. */
#define WAITING_SECONDS 0.1
#define PENDING_SECONDS 1.0
#define RUNNING_SECONDS 10.0

static bool has_bits(uint64_t mask, uint64_t bits)
{
	return (mask & CT_SEIZE_BLOCKED) == bits;
}

/* The library's handlers, and libc at times, block these, too; the mask will be another one soon.
 */
static bool is_passing(uint64_t mask)
{
	return mask & (CANCEL | SETXID);
}

static bool is_collector(int pid, int tid)
{
	char name[32];

	return !strcmp(ct_proc_read(pid, tid, "comm", name, sizeof(name)), "cprof\n");
}

/* Would SIGPROF be delivered to T as soon as it is unblocked, and end T's system call by EINTR? A
 * timer's sample, which came while T ran, waits for that. */
static bool would_disturb(const struct stopped *t)
{
	struct __ptrace_peeksiginfo_args how = { .nr = 16 };
	siginfo_t found[16];
	long n = ptrace(PTRACE_PEEKSIGINFO, t->tid, &how, found);

	for (long i = 0; i < n; i++)
		if (found[i].si_signo == SIGPROF)
			return (long)t->regs.orig_rax >= 0;
	return n < 0 || n == 16;
}

/* Returns for how long it is worth to try thread TID again; 0: it has another mask than FROM. */
static double change_mask(struct ct_hunt *h, int tid, uint64_t from, uint64_t to)
{
	struct stopped t = { .tid = tid };
	uint64_t where, mask = (uint64_t)ct_proc_number(tid, "SigBlk", 16);
	bool disturbs;

	if (is_passing(mask) && !is_collector(h->s->pid, tid))
		return RUNNING_SECONDS;
	if (is_passing(mask) || !has_bits(mask, from))
		return 0;
	if (!ct_hunt_may_be_safe(h, ct_hunt_seen(h, tid), &where))
		return where || ct_hunt_is_parent(h, tid) ? WAITING_SECONDS : RUNNING_SECONDS;
	if (!stop(h, &t))
		return RUNNING_SECONDS;
	mask = (t.mask & ~CT_SEIZE_BLOCKED) | to;
	if (h->filtered && !h->filters.code)
		ct_seccomp_read(&h->filters, tid);
	disturbs = is_passing(t.mask) || (!(to & CT_SEIZE_PROF) && would_disturb(&t));
	if (!disturbs && has_bits(t.mask, from))
		ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(mask), &mask);
	let_go(h, &t, 0);
	return disturbs ? PENDING_SECONDS : 0;
}

void ct_seize_masks(int pid, uint64_t from, uint64_t to)
{
	struct ct_space none = { .pid = pid };
	struct ct_hunt h = { .s = &none, .round = ROUNDS_FOR_OTHERS };
	int *tids = NULL, policy = begin_hurry();
	double began = ct_now(), most;
	size_t room = 0;

	h.filtered = ct_seccomp_filtered(pid);
	do {
		most = 0;
		h.threads = ct_proc_threads(pid, &tids, &room);
		h.caught = (uint64_t)ct_proc_number(pid, "SigCgt", 16);
		for (unsigned i = 0; i < h.threads; i++) {
			double worth = change_mask(&h, tids[i], from, to);

			most = worth > most ? worth : most;
		}
		if (most > 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	} while (ct_now() - began < most);
	end_hurry(policy);
	free(tids);
	free(h.seen);
	free(h.filters.code);
}
