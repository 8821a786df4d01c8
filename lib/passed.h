/* Handlers of the program's that the kernel calls by way of one of ours, because the process may
 * end behind them without a word to us:
 *
 * - those for one call (SA_RESETHAND), where the signal's default ends the process. As the kernel
 *   calls one it makes the disposition the default, and programs that clean up in it and raise the
 *   signal again are gone. Ours puts what we have for the default there, and goes on into the
 *   program's.
 * - those for SIGABRT. When one returns, abort() ends the process by libc's own means.
 *
 * The table of dispositions has the program's handler, of which the kernel doesn't know.
 */
#ifndef CP_PASSED_H
#define CP_PASSED_H

#include <signal.h>
#include <stdbool.h>

/* What is needed of signals.c. */
struct cp_passed_hooks {
	/* SIG has its default from here on, in the kernel and in the table; but not if another
	 * handler than ours is there by now. */
	void (*put_default)(int sig);
	/* What ends the process for it. */
	void (*end)(int sig, siginfo_t *si, void *context);
	/* The process may be about to end. */
	void (*write)(void);
	/* The table is this process's: not in the child of a vfork. */
	bool (*is_ours)(void);
};

/* Before any other call. */
void cp_passed_begin(const struct cp_passed_hooks *h);

/* ACT, for SIG, is such a handler. Any context. */
bool cp_passed_wants(int sig, const struct sigaction *act);
/* What the kernel gets for ACT, which is in the table. Any context. */
void cp_passed_fill(struct sigaction *ours, int sig, const struct sigaction *act);
/* ACT, from the kernel, is that. Any context. */
bool cp_passed_is(const struct sigaction *act);

#endif
