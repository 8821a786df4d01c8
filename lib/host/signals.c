/* SPDX-License-Identifier: BSD-3-Clause */
/* Installs the profiler's handlers and keeps the program's view; see host.h. */
#include "host/host.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "host/real.h"

enum kind { KIND_NONE, KIND_PROF, KIND_DUMP, KIND_DUMP_HEAP, KIND_TOGGLE, KIND_FATAL };

static unsigned char kinds[65]; /* enum kind */
static bool dump_signal_asked, dump_refusal_said;
static int owner; /* pid of the process that KINDS describes; a vfork's child has another pid */

/* Fill *ACT for a handler of the profiler, which blocks all signals: a handler that interrupts it
 * could leave it by longjmp. */
static void fill_action(struct sigaction *act, int sig, void (*handler)(int, siginfo_t *, void *))
{
	memset(act, 0, sizeof(*act));
	act->sa_sigaction = handler;
	act->sa_flags = cp_handler_stack_flags(sig);
	memset(&act->sa_mask, 0xff, sizeof(act->sa_mask)); /* see blocks_prof in cpu.c */
}

static const struct cp_signal_work *work;

static void on_dump(int sig, siginfo_t *si, void *context)
{
	work->dump(CP_MAIN_MODES);
	cp_restart_check(context);
}

static void on_dump_heap(int sig, siginfo_t *si, void *context)
{
	work->dump(CPROF_HEAP);
	cp_restart_check(context);
}

static void on_toggle(int sig, siginfo_t *si, void *context)
{
	work->toggle();
	cp_restart_check(context);
}

static void (*handler_of(enum kind kind))(int, siginfo_t *, void *)
{
	switch (kind) {
	case KIND_PROF: return cp_sigprof_handle;
	case KIND_DUMP: return on_dump;
	case KIND_DUMP_HEAP: return on_dump_heap;
	case KIND_TOGGLE: return on_toggle;
	case KIND_FATAL: return cp_fatal_handler;
	default: return NULL;
	}
}

static bool is_ours(const struct sigaction *act)
{
	return act->sa_sigaction == cp_sigprof_handle || act->sa_sigaction == on_dump ||
	       act->sa_sigaction == on_dump_heap || act->sa_sigaction == on_toggle ||
	       act->sa_sigaction == cp_fatal_handler || cp_chained_is(act);
}

/* Write OLD as libc does, from its front, so that a fault has the same address. */
static void give(struct sigaction *old, const struct sigaction *what)
{
	*(volatile sighandler_t *)&old->sa_handler = what->sa_handler;
	cp_signal_fence();
	*old = *what;
}

static int set_prof(const struct sigaction *act, struct sigaction *old)
{
	struct sigaction view;
	struct cp_disposition d;

	cp_disposition_view_get(SIGPROF, &view);
	if (act) {
		cp_disposition_view_keep(&d, act);
		cp_disposition_set(SIGPROF, &d);
	}
	if (old)
		give(old, &view);
	return 0;
}

static void say_dump_refused(int sig)
{
	const char *what = "the program uses signal %d (%s) itself: no profile dump on it; "
			   "CPROF_SIGNAL takes another signal, or none";
	const char *name = sig == SIGUSR2 ? "SIGUSR2" : "CPROF_SIGNAL";

	if (!dump_signal_asked)
		cp_notes_note(CP_NOTE_DUMP_SIGNAL, what, sig, name);
	else if (!dump_refusal_said)
		cp_log(what, sig, name);
	dump_refusal_said = true;
}

/* Signals whose disposition the program has set, even to the default. */
static uint64_t programs;

/* Note that the program sets SIG. From then on a dump or toggle signal is treated like any other
 * signal. The default counts as well, because the program may want to be ended by the signal.
 * Setting the default is not reported: many programs reset all signals before an exec. */
static void let_go(int sig, const struct sigaction *act)
{
	enum kind was = kinds[sig];

	if (was == KIND_FATAL || was == KIND_NONE)
		return;
	kinds[sig] = cp_fatal_signals(owner) & CP_SIGBIT(sig) ? KIND_FATAL : KIND_NONE;
	if (was == KIND_DUMP && act->sa_handler != SIG_DFL)
		say_dump_refused(sig);
}

/* Return true if ACT may be chained; false where the alternate stack has room for the kernel's
 * frame only. */
static bool may_be_passed(int sig, const struct sigaction *act)
{
	return ((kinds[sig] == KIND_FATAL && cp_chained_wants(sig, act)) ||
		cp_chained_wants_room(act)) &&
	       !((act->sa_flags & SA_ONSTACK) && cp_handler_stack_is_useless());
}

/* Write the table first: after sigaction a signal may come at once. */
static int set_passed(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction ours, view;
	struct cp_disposition d, was;
	int err;

	cp_disposition_get(sig, &was);
	cp_disposition_view_get(sig, &view);
	cp_disposition_view_keep(&d, act);
	cp_disposition_set(sig, &d);
	cp_chained_fill(&ours, sig, act);
	err = CP_REAL(sigaction)(sig, &ours, &ours);
	if (err)
		cp_disposition_set(sig, &was);
	else if (old)
		give(old, is_ours(&ours) ? &view : &ours);
	return err;
}

/* As in the kernel's reset of a handler, flags and mask stay. */
static void put_default(int sig)
{
	bool ours = cp_profiled_is_ours() && kinds[sig] == KIND_FATAL;
	struct sigaction act, now;
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	d.handler = SIG_DFL;
	if (ours)
		fill_action(&act, sig, cp_fatal_handler);
	else
		cp_disposition_view_fill(&act, &d);
	CP_REAL(sigaction)(sig, &act, &now);
	if (!cp_chained_is(&now))
		CP_REAL(sigaction)(sig, &now, NULL);
	else if (ours)
		cp_disposition_set(sig, &d);
}

static void (*default_of(int sig))(int, siginfo_t *, void *)
{
	return cp_fatal_signals(owner) & CP_SIGBIT(sig) ? cp_fatal_handler
							: cp_handler_call_nothing;
}

/* Inlined, as dispatch is: each return after a system call costs 10 ns (mask_view.c). */
static inline __attribute__((always_inline)) int set_other(int sig, const struct sigaction *act,
							   struct sigaction *old)
{
	struct sigaction ours, before, *was = old ? &before : NULL;
	struct cp_disposition d;
	int err;

	if (act)
		let_go(sig, act);
	if (act && may_be_passed(sig, act))
		return set_passed(sig, act, old);
	if (act && act->sa_handler == SIG_DFL && kinds[sig] != KIND_NONE) {
		cp_disposition_view_keep(&d, act);
		fill_action(&ours, sig, handler_of(kinds[sig]));
		err = CP_REAL(sigaction)(sig, &ours, was);
	} else {
		err = CP_REAL(sigaction)(sig, act, was);
	}
	if (err)
		return err;
	if (was && is_ours(was))
		cp_disposition_view_get(sig, was);
	if (was)
		give(old, was);
	if (act && act->sa_handler == SIG_DFL && kinds[sig] != KIND_NONE)
		cp_disposition_set(sig, &d);
	return 0;
}

/* Return false in the child of a vfork, unless system calls are restricted. */
static bool is_owner(void)
{
	return cp_profiled_retired() || cp_sys_getpid() == owner;
}

/* SIGPROF keeps the profiler's handler for good: after a stop, a late SIGPROF with the default
 * action would end the program. */
static inline __attribute__((always_inline)) int dispatch(int sig, const struct sigaction *act,
							  struct sigaction *old, bool ours)
{
	int err;

	if (kinds[sig] == KIND_PROF && is_owner())
		return set_prof(act, old);
	if (ours)
		return set_other(sig, act, old);
	/* No handler is the profiler's, or this is the child of a vfork and the table is its
	 * parent's. */
	err = CP_REAL(sigaction)(sig, act, old);
	if (!err && old && is_ours(old))
		cp_disposition_view_get(sig, old);
	return err;
}

/* Signals that can't have a handler of the program, and can't be blocked. The last two are libc's
 * own. */
#define NEVER_CAUGHT (CP_SIGBIT(SIGKILL) | CP_SIGBIT(SIGSTOP) | CP_SIGBIT(32) | CP_SIGBIT(33))

bool cp_signals_are_ours(int sig)
{
	struct sigaction now;

	return sig > 0 && sig < 65 && !(NEVER_CAUGHT & CP_SIGBIT(sig)) &&
	       CP_REAL(sigaction)(sig, NULL, &now) == 0 && is_ours(&now);
}

static uint64_t caught; /* signals that ever had a handler of the program, set through libc */

bool cp_signals_may_have_run(uint64_t signals)
{
	struct sigaction now;

	signals &= ~NEVER_CAUGHT;
	if (cp_load_seqcst(&caught) & signals)
		return true;
	for (int sig = 1; sig < 65; sig++)
		if ((signals & CP_SIGBIT(sig)) && CP_REAL(sigaction)(sig, NULL, &now) == 0 &&
		    cp_handler_mask_is_handler(&now) && !is_ours(&now))
			return true;
	return false;
}

/* Clear the part of a set that the kernel doesn't have: libc fills that part with stack contents.
 */
static void clear_rest(sigset_t *set)
{
	memset((char *)set + sizeof(uint64_t), 0, sizeof(*set) - sizeof(uint64_t));
}

/* The locked operation is saved if it would change nothing. */
static void add_signal(uint64_t *signals, int sig)
{
	if (!(cp_load_seqcst(signals) & CP_SIGBIT(sig)))
		cp_or_seqcst(signals, CP_SIGBIT(sig));
}

/* Copy the program's FROM as libc does: from its front, so that a fault is at libc's address. Not
 * inlined: an address that is none, read through the register of the frame, is a SIGBUS. */
__attribute__((noinline)) static void read_action(struct sigaction *to,
						  const struct sigaction *from)
{
	to->sa_handler = from->sa_handler;
	cp_signal_fence();
	to->sa_mask = from->sa_mask;
	cp_signal_fence();
	to->sa_flags = from->sa_flags;
}

/* Is a change to ACT (or NULL) the same in the child of a vfork, and none of the tables? Then
 * nothing need tell the two apart, which takes a system call. */
static bool is_plain(int sig, const struct sigaction *act)
{
	uint64_t bit = CP_SIGBIT(sig);

	if (kinds[sig] != KIND_NONE && kinds[sig] != KIND_FATAL)
		return false;
	if (!act)
		return true;
	if (!(cp_load_seqcst(&programs) & bit) || may_be_passed(sig, act) ||
	    !cp_handler_mask_is_plain(sig, act))
		return false;
	return cp_handler_mask_is_handler(act)
		       ? (cp_load_seqcst(&caught) & bit) != 0
		       : act->sa_handler == SIG_IGN || kinds[sig] == KIND_NONE;
}

int cp_signals_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction read;
	struct cp_handler_mask mask;
	bool active, ours, keeps;
	int err;

	if (sig < 1 || sig > 64)
		return CP_REAL(sigaction)(sig, act, old);
	if (act) {
		read_action(&read, act);
		act = &read;
	}
	/* Asked once, because it takes a system call. */
	active = cp_profiled_active();
	ours = active && (is_plain(sig, act) || cp_profiled_is_this());
	act = cp_handler_mask_begin(&mask, sig, act, ours && cp_load_relaxed(&cp_deferred_on));
	keeps = act && (!active || ours);
	if (keeps)
		add_signal(&programs, sig);
	if (keeps && cp_handler_mask_is_handler(act))
		add_signal(&caught, sig);
	err = dispatch(sig, act, old, ours);
	if (err)
		return err;
	cp_handler_mask_end(&mask, sig, keeps, old);
	/* What is pending goes away, as in the kernel. */
	if (sig == SIGPROF && ours && act && act->sa_handler == SIG_IGN)
		cp_deferred_drop();
	if (old)
		clear_rest(&old->sa_mask);
	return 0;
}

/* Set ACT, the program's handler of SIG, as the program would. */
static void set_again(int sig, const struct sigaction *act)
{
	struct cp_handler_mask mask;
	const struct sigaction *to = cp_handler_mask_begin(&mask, sig, act, true);

	if (to == act && !may_be_passed(sig, act))
		return;
	add_signal(&caught, sig);
	if (dispatch(sig, to, NULL, true) == 0)
		cp_handler_mask_end(&mask, sig, true, NULL);
}

static void leave_alternate_stacks(void)
{
	struct sigaction now;

	for (int sig = 1; sig < 65; sig++) {
		if (CP_REAL(sigaction)(sig, NULL, &now) < 0 || !is_ours(&now))
			continue;
		if (!cp_chained_is(&now))
			now.sa_flags = cp_handler_stack_flags(sig);
		else if (cp_handler_stack_is_useless() && (now.sa_flags & SA_ONSTACK)) {
			cp_disposition_view_get(sig, &now);
			cp_handler_mask_block_prof(sig, &now);
		}
		CP_REAL(sigaction)(sig, &now, NULL);
	}
}

/* Stop using alternate stacks, if the calling thread's present one says so. The work is complete on
 * return, even if another thread does it, too. */
static void look_at_alternate(void)
{
	uint32_t why = cp_handler_stack_look();

	if (why && cp_profiled_is_ours())
		leave_alternate_stacks();
	cp_handler_stack_left(why);
}

void cp_signals_alternate_goes(const void *at, size_t size)
{
	struct cp_thread *t;
	uint32_t why, i = 0;

	cp_altstack_invalidate(at, size);
	while ((t = cp_thread_with_alternate(at, size, &i))) {
		why = cp_handler_stack_taken();
		/* Handlers that come with the first mode find that noted. */
		if (!cp_profiled_is_ours())
			return;
		if (why)
			leave_alternate_stacks();
		cp_handler_stack_left(why);
		cp_handler_stack_await(t);
	}
}

long cp_signals_sigaltstack(const stack_t *ss, stack_t *old)
{
	bool sampled = ss && cp_profiled_active();
	uint64_t all = CP_SIGSET_ALL, mask;
	long r;

	if (cp_profiled_retired())
		return cp_sys2(SYS_sigaltstack, ss, old);
	/* No handler of the profiler may run on that stack before the stack was checked. */
	if (sampled)
		cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	r = cp_altstack_change(ss, old);
	/* With a bad OLD the call fails after it has changed the stack. */
	if (ss && (r >= 0 || r == -EFAULT))
		look_at_alternate();
	if (sampled)
		cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return r;
}

/* Chain a handler that SIG has had since before the start. */
static void pass(int sig)
{
	struct sigaction now;

	if (CP_REAL(sigaction)(sig, NULL, &now) < 0 || is_ours(&now) || !may_be_passed(sig, &now))
		return;
	add_signal(&caught, sig);
	set_passed(sig, &now, NULL);
}

/* Claim SIG while its disposition is the default; for dumps and toggles, only if the program has
 * never set SIG. Returns true if the profiler's handler is installed. */
static bool claim_signal(int sig, enum kind kind)
{
	struct sigaction ours, before;
	struct cp_disposition d;

	if (kind != KIND_FATAL && (cp_load_seqcst(&programs) & CP_SIGBIT(sig)))
		return false;
	if (CP_REAL(sigaction)(sig, NULL, &before) < 0)
		return false;
	if (!is_ours(&before)) {
		kinds[sig] = kind;
		pass(sig);
		if (before.sa_handler != SIG_DFL)
			return false;
		cp_disposition_view_take(&d, &before);
		cp_disposition_set(sig, &d);
	}
	kinds[sig] = kind;
	fill_action(&ours, sig, handler_of(kind));
	return CP_REAL(sigaction)(sig, &ours, NULL) == 0;
}

void cp_signals_install(const struct cp_config *c, const struct cp_signal_work *w)
{
	static struct cp_chained_hooks passed = { put_default, default_of, NULL,
						  cp_profiled_is_ours };
	int dump = c->dump_signal, toggle = c->toggle_signal, heap = c->heap_signal;
	uint64_t fatal;

	work = w;
	passed.write = w->write;
	cp_chained_begin(&passed);
	cp_fatal_begin(w);
	cp_sigprof_set_end(cp_fatal_handler);
	owner = cp_sys_getpid();
	dump_signal_asked = c->dump_signal_asked;
	if (toggle)
		claim_signal(toggle, KIND_TOGGLE);
	if (heap)
		claim_signal(heap, KIND_DUMP_HEAP);
	if (dump && dump != toggle && dump != heap && !claim_signal(dump, KIND_DUMP))
		say_dump_refused(dump);
	fatal = cp_fatal_signals(owner);
	for (int sig = 1; sig < 65; sig++)
		if (!kinds[sig] && (fatal & CP_SIGBIT(sig)))
			claim_signal(sig, KIND_FATAL);
		else if (!kinds[sig])
			pass(sig);
}

/* Set the program's handler of SIG anew: from here on handlers need room for samples. */
static void renew(int sig)
{
	struct sigaction now;

	if (CP_REAL(sigaction)(sig, NULL, &now) == 0 && !is_ours(&now) &&
	    cp_handler_mask_is_handler(&now))
		set_again(sig, &now);
}

int cp_signals_claim_prof(void)
{
	int err = cp_sigprof_handler_install();

	if (err < 0 || kinds[SIGPROF] == KIND_PROF)
		return err;
	kinds[SIGPROF] = KIND_PROF;
	/* Unless the program has set its disposition meanwhile, this changes nothing. */
	cp_sigprof_handler_install();
	cp_store_relaxed(&cp_deferred_on, 1);
	for (int sig = 1; sig < 65; sig++)
		if (!(NEVER_CAUGHT & CP_SIGBIT(sig)))
			renew(sig);
	return 0;
}

/* The disposition that libc's own profiler has displaced. In the kernel, libc's profiler puts it
 * back itself. */
static struct cp_disposition displaced;
static bool is_displaced;

void cp_signals_look_at_prof(void)
{
	if (kinds[SIGPROF] != KIND_PROF || !is_owner())
		return;
	if (!cp_sigprof_handler_is_there()) {
		if (!is_displaced)
			cp_disposition_get(SIGPROF, &displaced);
		is_displaced = true;
		cp_sigprof_handler_install();
	} else if (is_displaced) {
		is_displaced = false;
		cp_disposition_set(SIGPROF, &displaced);
	}
}

static void give_back(int sig)
{
	struct sigaction act;

	kinds[sig] = KIND_NONE;
	if (CP_REAL(sigaction)(sig, NULL, &act) < 0 || !is_ours(&act))
		return;
	cp_disposition_view_get(sig, &act);
	CP_REAL(sigaction)(sig, &act, NULL);
}

void cp_signals_remove(void)
{
	for (int sig = 1; sig < 65; sig++)
		if (kinds[sig] != KIND_PROF)
			give_back(sig);
}

/* How long a SIGPROF of a timer that is gone may be on its way to the program's own handler. */
#define LATE_NS 10000000

/* A SIGPROF that is still pending somewhere would end a program that has the default. The kernel
 * drops what is pending when a signal becomes ignored. */
void cp_signals_give_prof_back(void)
{
	const struct timespec late = { 0, LATE_NS };
	struct sigaction act, ignore = { .sa_handler = SIG_IGN }, now;

	if (kinds[SIGPROF] != KIND_PROF)
		return;
	cp_disposition_view_get(SIGPROF, &act);
	if (act.sa_handler != SIG_DFL)
		cp_sys2(SYS_nanosleep, &late, NULL);
	else if (cp_sigprof_handler_is_there())
		CP_REAL(sigaction)(SIGPROF, &ignore, NULL);
	kinds[SIGPROF] = KIND_NONE;
	cp_store_relaxed(&cp_deferred_on, 0);
	/* Unless the program has set another one meanwhile. */
	if (CP_REAL(sigaction)(SIGPROF, &act, &now) == 0 && now.sa_handler != SIG_IGN &&
	    !is_ours(&now))
		CP_REAL(sigaction)(SIGPROF, &now, NULL);
}

bool cp_signals_program_has_prof(void)
{
	struct sigaction act = { .sa_handler = SIG_DFL };

	if (kinds[SIGPROF] == KIND_PROF)
		cp_disposition_view_get(SIGPROF, &act);
	else
		CP_REAL(sigaction)(SIGPROF, NULL, &act);
	return act.sa_handler != SIG_DFL && act.sa_handler != SIG_IGN;
}

static void really_ignore_prof(bool ignore)
{
	struct sigaction act, now;

	cp_disposition_view_get(SIGPROF, &act);
	if (kinds[SIGPROF] != KIND_PROF || act.sa_handler != SIG_IGN)
		return;
	/* The child of a vfork may have set its own disposition. */
	if (CP_REAL(sigaction)(SIGPROF, NULL, &now) < 0 ||
	    (ignore ? !is_ours(&now) : now.sa_handler != SIG_IGN))
		return;
	if (!ignore)
		fill_action(&act, SIGPROF, cp_sigprof_handle);
	CP_REAL(sigaction)(SIGPROF, &act, NULL);
}

void cp_signals_exec_begin(void)
{
	/* Only a mask and "ignored" are inherited over exec; handlers become default. */
	if (!is_owner())
		cp_deferred_leave_to_child();
	else if (cp_deferred_blocked() || !cp_profiled_retired())
		cp_deferred_apply_mask();
	really_ignore_prof(true);
}

void cp_signals_exec_failed(void)
{
	if (!is_owner())
		return;
	really_ignore_prof(false);
	if (cp_deferred_blocked() || !cp_profiled_retired())
		cp_deferred_revert_mask();
}

void cp_signals_fork_child(void)
{
	uint64_t fatal;

	owner = cp_sys_getpid();
	fatal = cp_fatal_signals(owner);
	for (int sig = 1; sig < 65; sig++)
		if (kinds[sig] == KIND_FATAL && !(fatal & CP_SIGBIT(sig)))
			give_back(sig);
}
