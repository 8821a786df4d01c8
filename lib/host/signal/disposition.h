/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's view of the signals that the profiler handles for it.
 *
 * For SIGPROF the kernel always has the profiler's handler while a mode runs. For a signal whose
 * default action ends the process, the kernel has the profiler's handler only while the program's
 * own disposition is the default. This table is the program's view. The interposed sigaction family
 * reads and writes it, and a signal of the program is delivered from it. A slot is written under a
 * lock with all signals blocked. The handler reads a slot with a sequence check and takes no lock;
 * it reads again while another thread writes.
 */
#ifndef CP_DISPOSITION_H
#define CP_DISPOSITION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* A disposition in libc's form, reduced to what a handler call needs. */
struct cp_disposition {
	union {
		void (*handler)(int);
		void (*action)(int, siginfo_t *, void *);
	};
	uint64_t mask; /* kernel form */
	int flags;     /* SA_* */
};

/* Read or write the program's view of SIG (1 to 64). Async-signal-safe. */
void cp_disposition_get(int sig, struct cp_disposition *d);
void cp_disposition_set(int sig, const struct cp_disposition *d);

/* Read the program's view of SIG for the delivery of a signal. A handler for one call
 * (SA_RESETHAND) is replaced by the default in the table, as the kernel does it. Called in the
 * profiler's handler, with all signals blocked. */
void cp_disposition_take(int sig, struct cp_disposition *d);

/* Repair the table in a fork child: a write by another thread will never end. */
void cp_disposition_fork_child(void);

#endif
