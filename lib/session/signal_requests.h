/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that signals make of the session: dumps, toggles, and the profiles before the process
 * ends. */
#ifndef CP_SIGNAL_REQUESTS_H
#define CP_SIGNAL_REQUESTS_H

#include "host/signal_work.h"

/* For cp_signals_install. */
extern const struct cp_signal_work cp_signal_requests_work;

#endif
