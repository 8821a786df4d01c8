/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces getpid. */
#include <unistd.h>

#include "base/sys.h"
#include "host/host.h"
#include "modes/toy/signal/toy_event.h"

INTERPOSE pid_t getpid(void)
{
	cp_toy_event_called();
	return cp_sys_getpid();
}
