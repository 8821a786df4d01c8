/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions between libc's dispositions and those in the table (host/signal/disposition.h). */
#ifndef CP_DISPOSITION_VIEW_H
#define CP_DISPOSITION_VIEW_H

#include <signal.h>

#include "host/signal/disposition.h"

/* Convert ACT, which the kernel has. */
void cp_disposition_view_take(struct cp_disposition *d, const struct sigaction *act);
/* Convert ACT, which the program sets, to the form that the kernel keeps. */
void cp_disposition_view_keep(struct cp_disposition *d, const struct sigaction *act);
/* Convert back. */
void cp_disposition_view_fill(struct sigaction *act, const struct cp_disposition *d);
/* Set *ACT to the program's view of SIG, where the kernel has the profiler's handler. Any context.
 */
void cp_disposition_view_get(int sig, struct sigaction *act);

#endif
