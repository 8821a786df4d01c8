/* Handlers in the program's place; see signals.h. */
#include "signals.h"

#include <errno.h>
#include <string.h>

#include "collect.h"
#include "log.h"
#include "real.h"
#include "session.h"
#include "sigsafe/atomic.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/disposition.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"

enum kind { KIND_NONE, KIND_PROF, KIND_DUMP, KIND_TOGGLE, KIND_FATAL };

/* Default action "terminate" or "core" (signal(7)); the real-time signals follow. */
static const unsigned char fatal_signals[] = { SIGHUP,	SIGINT,	 SIGQUIT,   SIGILL,  SIGTRAP,
					       SIGABRT, SIGBUS,	 SIGFPE,    SIGUSR1, SIGSEGV,
					       SIGUSR2, SIGPIPE, SIGALRM,   SIGTERM, SIGSTKFLT,
					       SIGXCPU, SIGXFSZ, SIGVTALRM, SIGIO,   SIGPWR,
					       SIGSYS };

static unsigned char kinds[65]; /* enum kind */
static bool dump_refusal_said;

/* A standard handler call is not re-entered by other signals: whoever interrupts ours
 * could leave it by longjmp. */
static void fill(struct sigaction *act, void (*handler)(int, siginfo_t *, void *))
{
	memset(act, 0, sizeof(*act));
	act->sa_sigaction = handler;
	act->sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigfillset(&act->sa_mask);
}

static void on_dump(int sig, siginfo_t *si, void *context)
{
	if (cp_session_is_ours())
		cp_collect_request(CP_REQUEST_DUMP);
}

static void on_toggle(int sig, siginfo_t *si, void *context)
{
	if (cp_session_is_ours())
		cp_collect_request(CP_REQUEST_TOGGLE);
}

static void on_fatal(int sig, siginfo_t *si, void *context)
{
	int saved = errno;

	if (cp_session_is_ours())
		cp_session_write("before a fatal signal");
	cp_signals_die(sig, si, context);
	errno = saved;
}

static void (*handler_of(enum kind kind))(int, siginfo_t *, void *)
{
	switch (kind) {
	case KIND_PROF: return cp_cpu_event_handler;
	case KIND_DUMP: return on_dump;
	case KIND_TOGGLE: return on_toggle;
	case KIND_FATAL: return on_fatal;
	default: return NULL;
	}
}

static bool is_ours(const struct sigaction *act)
{
	return act->sa_sigaction == cp_cpu_event_handler || act->sa_sigaction == on_dump ||
	       act->sa_sigaction == on_toggle || act->sa_sigaction == on_fatal;
}

static void to_disposition(struct cp_disposition *d, const struct sigaction *act)
{
	d->handler = act->sa_handler;
	d->flags = act->sa_flags;
	memcpy(&d->mask, &act->sa_mask, sizeof(d->mask));
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
		to_disposition(&d, act);
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

static int set_other(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction ours, before;
	struct cp_disposition d;
	int err;

	if (act && act->sa_handler == SIG_DFL) {
		to_disposition(&d, act);
		fill(&ours, handler_of(kinds[sig]));
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

int cp_signals_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	bool managed = sig > 0 && sig < 65 && kinds[sig] != KIND_NONE;
	int err;

	if (managed && cp_session_is_ours())
		return kinds[sig] == KIND_PROF ? set_prof(act, old) : set_other(sig, act, old);
	/* Not managed, or the child of a vfork: the table is its parent's. */
	err = CP_REAL(sigaction)(sig, act, old);
	if (!err && managed && old && is_ours(old))
		program_view(sig, old);
	return err;
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
		if (before.sa_handler != SIG_DFL)
			return false;
		to_disposition(&d, &before);
		cp_disposition_set(sig, &d);
	}
	kinds[sig] = kind;
	fill(&ours, handler_of(kind));
	return CP_REAL(sigaction)(sig, &ours, NULL) == 0;
}

void cp_signals_install(int dump_signal, int toggle_signal)
{
	cp_cpu_state.die = cp_signals_die;
	kinds[SIGPROF] = KIND_PROF;
	if (toggle_signal)
		claim(toggle_signal, KIND_TOGGLE);
	if (dump_signal && dump_signal != toggle_signal && !claim(dump_signal, KIND_DUMP))
		say_dump_refused(dump_signal);
	for (size_t i = 0; i < sizeof(fatal_signals); i++)
		if (!kinds[fatal_signals[i]])
			claim(fatal_signals[i], KIND_FATAL);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		if (!kinds[sig])
			claim(sig, KIND_FATAL);
}

void cp_signals_remove(void)
{
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction now, view;

		if (kinds[sig] == KIND_NONE || kinds[sig] == KIND_PROF)
			continue;
		kinds[sig] = KIND_NONE;
		if (CP_REAL(sigaction)(sig, NULL, &now) < 0 || !is_ours(&now))
			continue;
		program_view(sig, &view);
		CP_REAL(sigaction)(sig, &view, NULL);
	}
}

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL;
}

void cp_signals_die(int sig, siginfo_t *si, void *context)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, before;
	uint64_t bit = CP_SIGBIT(sig);

	CP_REAL(sigaction)(sig, &standard, &before);
	/* A real fault happens again when we return: the core then shows it as it was. */
	if (is_fault(sig) && si->si_code > 0)
		return;
	cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_sys_gettid(), sig, si);
	cp_sys_sigmask(SIG_UNBLOCK, &bit, NULL);
	/* Still here: the kernel ignores default actions for pid 1 of a namespace. */
	cp_sys_sigmask(SIG_BLOCK, &bit, NULL);
	CP_REAL(sigaction)(sig, &before, NULL);
}

static void really_block_prof(bool block)
{
	uint64_t bit = CP_SIGBIT(SIGPROF);

	if (cp_self.prof_blocked)
		cp_sys_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &bit, NULL);
}

static void really_ignore_prof(bool ignore)
{
	struct sigaction act;

	if (kinds[SIGPROF] != KIND_PROF || !cp_session_is_ours())
		return;
	program_view(SIGPROF, &act);
	if (act.sa_handler != SIG_IGN)
		return;
	if (!ignore)
		fill(&act, cp_cpu_event_handler);
	CP_REAL(sigaction)(SIGPROF, &act, NULL);
}

void cp_signals_exec_begin(void)
{
	/* Only a mask and "ignored" are inherited over exec; handlers become default. */
	really_block_prof(true);
	really_ignore_prof(true);
}

void cp_signals_exec_failed(void)
{
	really_ignore_prof(false);
	really_block_prof(false);
}
