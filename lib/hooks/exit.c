/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways to end the process that run no destructor. */
#include <stdlib.h>
#include <unistd.h>

#include "host/host.h"
#include "host/real.h"
#include "session/session.h"

INTERPOSE void _exit(int status)
{
	cp_process_end("at _exit");
	CP_REAL(exit_now)(status);
	__builtin_unreachable();
}

INTERPOSE void _Exit(int status)
{
	cp_process_end("at _Exit");
	CP_REAL(exit_now)(status);
	__builtin_unreachable();
}
