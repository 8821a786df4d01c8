/* Handlers in the program's place; see signals.h. */
#include "signals.h"

#include <string.h>
#include <sys/auxv.h>

#include "collect.h"
#include "cpu.h"
#include "fatal.h"
#include "handler_mask.h"
#include "log.h"
#include "passed.h"
#include "real.h"
#include "session.h"
#include "sigsafe/atomic.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/disposition.h"
#include "sigsafe/held.h"
#include "sigsafe/restart.h"
#include "sigsafe/sys.h"

enum kind { KIND_NONE, KIND_PROF, KIND_DUMP, KIND_DUMP_HEAP, KIND_TOGGLE, KIND_FATAL };

static unsigned char kinds[65]; /* enum kind */
static bool dump_refusal_said;
static int owner; /* pid of the process that KINDS describes: not a vfork child's */

/* What our handlers may need of an alternate stack besides the kernel's frame: they unwind, and
 * write files, on stacks of their own (half of this was measured). */
#define STACK_NEED 1024
#define STACK_FRAME_LEAST 2048
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static bool alternate_too_small; /* one of the program's is; never cleared */

static int flags_for(int sig)
{
	int flags = SA_SIGINFO | SA_RESTART;

	/* A stack overflow leaves no other place. */
	if (!alternate_too_small || sig == SIGSEGV || sig == SIGBUS)
		flags |= SA_ONSTACK;
	return flags;
}

/* A standard handler call is not re-entered by other signals: whoever interrupts ours
 * could leave it by longjmp. */
static void fill(struct sigaction *act, int sig, void (*handler)(int, siginfo_t *, void *))
{
	memset(act, 0, sizeof(*act));
	act->sa_sigaction = handler;
	act->sa_flags = flags_for(sig);
	memset(&act->sa_mask, 0xff, sizeof(act->sa_mask)); /* see blocks_prof in cpu.c */
}

/* What `cprof dump -mode` sends with the signal: tools/dump_process.c has the same. */
#define DUMP_ONLY 0x63707200u

static void on_dump(int sig, siginfo_t *si, void *context)
{
	uint32_t only = si->si_code == SI_QUEUE ? (uint32_t)si->si_value.sival_int - DUMP_ONLY
						: CP_MAIN_MODES;

	if (cp_session_is_ours())
		cp_collect_request(only < CP_MAIN_MODES ? CP_REQUEST_DUMP_OF(only)
							: CP_REQUEST_DUMP);
	cp_restart_check(context);
}

static void on_dump_heap(int sig, siginfo_t *si, void *context)
{
	if (cp_session_is_ours())
		cp_collect_request(CP_REQUEST_DUMP_OF(CP_MODE_HEAP));
	cp_restart_check(context);
}

static uint32_t toggles;

unsigned cp_signals_toggles(void)
{
	return cp_exchange_acqrel(&toggles, 0);
}

static void on_toggle(int sig, siginfo_t *si, void *context)
{
	if (cp_session_is_ours()) {
		cp_add_seqcst(&toggles, 1);
		cp_collect_request(CP_REQUEST_TOGGLE);
	}
	cp_restart_check(context);
}

static void (*handler_of(enum kind kind))(int, siginfo_t *, void *)
{
	switch (kind) {
	case KIND_PROF: return cp_cpu_event_handler;
	case KIND_DUMP: return on_dump;
	case KIND_DUMP_HEAP: return on_dump_heap;
	case KIND_TOGGLE: return on_toggle;
	case KIND_FATAL: return cp_fatal_handler;
	default: return NULL;
	}
}

static bool is_ours(const struct sigaction *act)
{
	return act->sa_sigaction == cp_cpu_event_handler || act->sa_sigaction == on_dump ||
	       act->sa_sigaction == on_dump_heap || act->sa_sigaction == on_toggle ||
	       act->sa_sigaction == cp_fatal_handler || cp_passed_is(act);
}

/* What libc and the kernel make of flags and a mask that the program sets, and show to who asks. */
#ifdef __x86_64__
#define LIBC_FLAGS 0x04000000 /* SA_RESTORER */
#else
#define LIBC_FLAGS 0
#endif
#define KERNEL_FLAGS                                                                               \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER |         \
	 (int)SA_RESETHAND | 0x800 /* SA_EXPOSE_TAGBITS */)

static void to_disposition(struct cp_disposition *d, const struct sigaction *act)
{
	d->handler = act->sa_handler;
	d->flags = act->sa_flags;
	memcpy(&d->mask, &act->sa_mask, sizeof(d->mask));
}

/* Of what the program sets: as the kernel keeps it. */
static void to_kept(struct cp_disposition *d, const struct sigaction *act)
{
	to_disposition(d, act);
	d->flags = (d->flags & KERNEL_FLAGS) | LIBC_FLAGS;
	d->mask &= ~(CP_SIGBIT(SIGKILL) | CP_SIGBIT(SIGSTOP));
}

static void to_sigaction(struct sigaction *act, const struct cp_disposition *d)
{
	memset(act, 0, sizeof(*act));
	act->sa_handler = d->handler;
	act->sa_flags = d->flags;
	memcpy(&act->sa_mask, &d->mask, sizeof(d->mask));
}

/* What the program believes that SIG does, where the kernel holds ours. */
static void program_view(int sig, struct sigaction *act)
{
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	to_sigaction(act, &d);
}

static int set_prof(const struct sigaction *act, struct sigaction *old)
{
	struct sigaction view;
	struct cp_disposition d;

	program_view(SIGPROF, &view);
	if (act) {
		to_kept(&d, act);
		cp_disposition_set(SIGPROF, &d);
	}
	if (old)
		*old = view;
	return 0;
}

static void say_dump_refused(int sig)
{
	if (dump_refusal_said)
		return;
	dump_refusal_said = true;
	cp_log("the program handles signal %d (%s) itself: no profile dump on it; "
	       "CPROF_SIGNAL takes another signal, or none",
	       sig, sig == SIGUSR2 ? "SIGUSR2" : "CPROF_SIGNAL");
}

/* Not where there is room for the kernel's frame only. */
static bool may_be_passed(int sig, const struct sigaction *act)
{
	return kinds[sig] == KIND_FATAL && cp_passed_wants(sig, act) &&
	       !((act->sa_flags & SA_ONSTACK) && alternate_too_small);
}

/* The table first: from then on a signal may come. */
static int set_passed(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction ours, view;
	struct cp_disposition d, was;
	int err;

	cp_disposition_get(sig, &was);
	program_view(sig, &view);
	to_kept(&d, act);
	cp_disposition_set(sig, &d);
	cp_passed_fill(&ours, sig, act);
	err = CP_REAL(sigaction)(sig, &ours, &ours);
	if (err)
		cp_disposition_set(sig, &was);
	else if (old)
		*old = is_ours(&ours) ? view : ours;
	return err;
}

/* As the kernel leaves what it resets: flags and mask stay. */
static void put_default(int sig)
{
	bool ours = cp_session_is_ours() && kinds[sig] == KIND_FATAL;
	struct sigaction act, now;
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	d.handler = SIG_DFL;
	if (ours)
		fill(&act, sig, cp_fatal_handler);
	else
		to_sigaction(&act, &d);
	CP_REAL(sigaction)(sig, &act, &now);
	if (!cp_passed_is(&now))
		CP_REAL(sigaction)(sig, &now, NULL);
	else if (ours)
		cp_disposition_set(sig, &d);
}

static void write_before_abort(void)
{
	cp_session_write("before abort", false);
}

static const struct cp_passed_hooks passed = { put_default, cp_fatal_handler, write_before_abort,
					       cp_session_is_ours };

static int set_other(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction ours, before;
	struct cp_disposition d;
	int err;

	if (act && may_be_passed(sig, act))
		return set_passed(sig, act, old);
	if (act && act->sa_handler == SIG_DFL) {
		to_kept(&d, act);
		fill(&ours, sig, handler_of(kinds[sig]));
		err = CP_REAL(sigaction)(sig, &ours, &before);
	} else {
		err = CP_REAL(sigaction)(sig, act, &before);
		if (act && !err && kinds[sig] == KIND_DUMP)
			say_dump_refused(sig);
	}
	if (err)
		return err;
	if (old && is_ours(&before))
		program_view(sig, old);
	else if (old)
		*old = before;
	if (act && act->sa_handler == SIG_DFL)
		cp_disposition_set(sig, &d);
	return 0;
}

/* SIGPROF is handled by us for good, also after a stop: a late one must not find the default. */
static int dispatch(int sig, const struct sigaction *act, struct sigaction *old)
{
	bool managed = kinds[sig] != KIND_NONE;
	int err;

	if (kinds[sig] == KIND_PROF && cp_sys_getpid() == owner)
		return set_prof(act, old);
	if (managed && cp_session_is_ours())
		return set_other(sig, act, old);
	/* Not managed, or the child of a vfork: the table is its parent's. */
	err = CP_REAL(sigaction)(sig, act, old);
	if (!err && managed && old && is_ours(old))
		program_view(sig, old);
	return err;
}

/* Signals that can't have a handler of the program's: libc's own are the last two. They can't be
 * blocked, either. */
#define NEVER_CAUGHT (CP_SIGBIT(SIGKILL) | CP_SIGBIT(SIGSTOP) | CP_SIGBIT(32) | CP_SIGBIT(33))

bool cp_signals_are_ours(int sig)
{
	struct sigaction now;

	return sig > 0 && sig < 65 && !(NEVER_CAUGHT & CP_SIGBIT(sig)) &&
	       CP_REAL(sigaction)(sig, NULL, &now) == 0 && is_ours(&now);
}

static uint64_t caught; /* signals that ever had a handler of the program's, by libc */

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

int cp_signals_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct cp_handler_mask mask;
	bool keeps;
	int err;

	if (sig < 1 || sig > 64)
		return CP_REAL(sigaction)(sig, act, old);
	act = cp_handler_mask_begin(&mask, sig, act, cp_session_is_ours());
	keeps = act && (!cp_session_active() || cp_session_is_ours());
	if (keeps && cp_handler_mask_is_handler(act))
		cp_or_seqcst(&caught, CP_SIGBIT(sig));
	err = dispatch(sig, act, old);
	if (!err)
		cp_handler_mask_end(&mask, sig, keeps, old);
	return err;
}

bool cp_signals_on_alternate(void)
{
	stack_t now = { .ss_flags = 0 };

	cp_sys2(SYS_sigaltstack, NULL, &now);
	return (now.ss_flags & SS_ONSTACK) != 0;
}

static void leave_alternate_stacks(void)
{
	struct sigaction now;

	for (int sig = 1; sig < 65; sig++) {
		if (!kinds[sig] || CP_REAL(sigaction)(sig, NULL, &now) < 0 || !is_ours(&now))
			continue;
		if (!cp_passed_is(&now))
			now.sa_flags = flags_for(sig);
		else if (now.sa_flags & SA_ONSTACK)
			program_view(sig, &now);
		CP_REAL(sigaction)(sig, &now, NULL);
	}
}

void cp_signals_alternate_stack(size_t size)
{
	size_t frame = getauxval(AT_MINSIGSTKSZ);

	if (size >= (frame ? frame : STACK_FRAME_LEAST) + STACK_NEED)
		return;
	if (cp_load_relaxed(&alternate_too_small))
		return;
	cp_store_relaxed(&alternate_too_small, true);
	cp_cpu_state.handler_flags = flags_for(SIGPROF);
	if (cp_session_is_ours())
		leave_alternate_stacks();
}

/* Claim SIG while its disposition is the default. */
static bool claim(int sig, enum kind kind)
{
	struct sigaction ours, before;
	struct cp_disposition d;

	if (CP_REAL(sigaction)(sig, NULL, &before) < 0)
		return false;
	if (!is_ours(&before)) {
		kinds[sig] = kind;
		if (may_be_passed(sig, &before)) {
			cp_or_seqcst(&caught, CP_SIGBIT(sig));
			set_passed(sig, &before, NULL);
		}
		if (before.sa_handler != SIG_DFL)
			return false;
		to_disposition(&d, &before);
		cp_disposition_set(sig, &d);
	}
	kinds[sig] = kind;
	fill(&ours, sig, handler_of(kind));
	return CP_REAL(sigaction)(sig, &ours, NULL) == 0;
}

void cp_signals_install(int dump_signal, int toggle_signal, int heap_signal)
{
	uint64_t fatal;

	cp_passed_begin(&passed);
	cp_cpu_state.die = cp_fatal_handler;
	cp_cpu_state.handler_flags = flags_for(SIGPROF);
	owner = cp_sys_getpid();
	kinds[SIGPROF] = KIND_PROF;
	cp_store_relaxed(&cp_held_on, 1);
	if (toggle_signal)
		claim(toggle_signal, KIND_TOGGLE);
	if (heap_signal)
		claim(heap_signal, KIND_DUMP_HEAP);
	if (dump_signal && dump_signal != toggle_signal && dump_signal != heap_signal &&
	    !claim(dump_signal, KIND_DUMP))
		say_dump_refused(dump_signal);
	fatal = cp_fatal_signals(owner);
	for (int sig = 1; sig < 65; sig++)
		if (!kinds[sig] && (fatal & CP_SIGBIT(sig)))
			claim(sig, KIND_FATAL);
}

static void give_back(int sig)
{
	struct sigaction now, view;

	kinds[sig] = KIND_NONE;
	if (CP_REAL(sigaction)(sig, NULL, &now) < 0 || !is_ours(&now))
		return;
	program_view(sig, &view);
	CP_REAL(sigaction)(sig, &view, NULL);
}

void cp_signals_remove(void)
{
	for (int sig = 1; sig < 65; sig++)
		if (kinds[sig] != KIND_NONE && kinds[sig] != KIND_PROF)
			give_back(sig);
}

static void really_ignore_prof(bool ignore)
{
	struct sigaction act;

	/* Not if the child of a vfork has set its own. */
	if (kinds[SIGPROF] != KIND_PROF || CP_REAL(sigaction)(SIGPROF, NULL, &act) < 0 ||
	    (ignore ? !is_ours(&act) : act.sa_handler != SIG_IGN))
		return;
	program_view(SIGPROF, &act);
	if (act.sa_handler != SIG_IGN)
		return;
	if (!ignore)
		fill(&act, SIGPROF, cp_cpu_event_handler);
	CP_REAL(sigaction)(SIGPROF, &act, NULL);
}

void cp_signals_exec_begin(void)
{
	/* Only a mask and "ignored" are inherited over exec; handlers become default. */
	if (cp_sys_getpid() != owner)
		cp_held_leave_to_child();
	else
		cp_held_reveal();
	really_ignore_prof(true);
}

void cp_signals_exec_failed(void)
{
	if (cp_sys_getpid() != owner)
		return;
	really_ignore_prof(false);
	cp_held_conceal();
}

void cp_signals_fork_child(void)
{
	uint64_t fatal;

	owner = cp_sys_getpid();
	/* The parent's. */
	cp_signals_toggles();
	fatal = cp_fatal_signals(owner);
	for (int sig = 1; sig < 65; sig++)
		if (kinds[sig] == KIND_FATAL && !(fatal & CP_SIGBIT(sig)))
			give_back(sig);
}

bool cp_signals_yield_process_timer(bool wanted)
{
	return cp_session_is_this() && cp_cpu_yield_process_timer(wanted);
}
