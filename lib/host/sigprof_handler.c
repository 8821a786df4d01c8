/* SPDX-License-Identifier: BSD-3-Clause */
/* Installs SIGPROF's handler; see host.h. */
#include "host/host.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "host/real.h"

/* Note the disposition NOW, which the kernel has, if it is the program's. */
static void note_program(const struct sigaction *now)
{
	struct cp_disposition d;

	if (now->sa_sigaction == cp_sigprof_handle)
		return;
	cp_disposition_view_take(&d, now);
	cp_disposition_set(SIGPROF, &d);
}

int cp_sigprof_handler_install(void)
{
	struct sigaction act = { .sa_sigaction = cp_sigprof_handle,
				 .sa_flags = cp_handler_stack_flags(SIGPROF) };
	struct sigaction old;

	/* The table is written first: a signal of the program may come at once. */
	if (CP_REAL(sigaction)(SIGPROF, NULL, &old) < 0)
		return -errno;
	note_program(&old);
	/* Includes libc's own signals, which sigfillset leaves out: see blocks_prof in cpu.c. */
	memset(&act.sa_mask, 0xff, sizeof(act.sa_mask));
	if (CP_REAL(sigaction)(SIGPROF, &act, &old) < 0)
		return -errno;
	note_program(&old);
	return 0;
}

bool cp_sigprof_handler_is_there(void)
{
	struct sigaction now;

	return CP_REAL(sigaction)(SIGPROF, NULL, &now) == 0 &&
	       now.sa_sigaction == cp_sigprof_handle;
}

void cp_sigprof_handler_check(void)
{
	struct sigaction now;

	if (cp_notes_get(CP_NOTE_HANDLER) || !cp_sigprof_samples_come() ||
	    CP_REAL(sigaction)(SIGPROF, NULL, &now) < 0)
		return;
	/* The profiler itself makes SIGPROF ignored for a moment before an exec. */
	if (now.sa_sigaction == cp_sigprof_handle || now.sa_handler == SIG_IGN)
		return;
	cp_notes_note(CP_NOTE_HANDLER,
		      "the program took SIGPROF's handler from us by a system call of "
		      "its own (a Go runtime does that): there are no samples from then on");
}
