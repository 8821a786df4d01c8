/* Calls that our handlers restart although the program's are to end them.
 *
 * Of two signals that come at once the kernel looks at one for what becomes of the call that they
 * interrupt: the first that it delivers, and one that was sent to the thread, as ours are, comes
 * first. Our handlers have SA_RESTART, so the program's would run, and its call go on, for ever
 * where it is the alarm that was to end it. And what a handler of the program's says that we call
 * ourselves, the kernel doesn't know. So our handlers do to the call what the kernel would have
 * done.
 *
 * Async-signal-safe; for handlers that have all signals blocked.
 */
#ifndef CP_RESTART_H
#define CP_RESTART_H

#include <ucontext.h>

/* A handler of ours is about to return to UC: where it would restart a call, and a signal is
 * pending that will be delivered there and has a handler that doesn't restart calls, the call ends
 * with EINTR. */
void cp_restart_check(ucontext_t *uc);

/* A handler of the program's that doesn't restart calls was called for a signal that came at UC. */
void cp_restart_end(ucontext_t *uc);

#endif
