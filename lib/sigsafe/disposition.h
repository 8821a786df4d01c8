/* What the program believes about signals that we handle for it.
 *
 * For SIGPROF the kernel always holds our handler while a mode runs; for a signal
 * whose default action ends the process it holds ours only while the program's own
 * disposition is the default. This table is the program's view, which the interposed
 * sigaction family reads and writes, and from which a signal of the program's own is
 * delivered. A slot is written under a lock with all signals blocked; the
 * handler reads it with a sequence check, so it never waits.
 */
#ifndef CP_DISPOSITION_H
#define CP_DISPOSITION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* How libc spells a disposition, cut to what a handler call needs. */
struct cp_disposition {
	union {
		void (*handler)(int);
		void (*action)(int, siginfo_t *, void *);
	};
	uint64_t mask; /* kernel form */
	int flags;     /* SA_* */
};

void cp_disposition_get(int sig, struct cp_disposition *d);
void cp_disposition_set(int sig, const struct cp_disposition *d);

/* Run the program's handler for SIG as the kernel would have: its mask, SA_NODEFER, SA_RESETHAND,
 * SA_SIGINFO, and no SA_RESTART ends the call that was interrupted. Called from our handler, in
 * which all signals are blocked; they are again afterwards. false: the disposition is default or
 * ignore, nothing was run. */
bool cp_disposition_deliver(int sig, siginfo_t *si, ucontext_t *uc);

/* In a fork child: a write that another thread had under way will never end. */
void cp_disposition_fork_child(void);

#endif
