/* SPDX-License-Identifier: BSD-3-Clause */
/* What `cprof attach` and the library that it loads into a running process tell each other.
 *
 * A thread of that process, whose name is CP_ATTACH_THREAD, calls dlopen(LIBRARY, RTLD_NOW |
 * RTLD_LOCAL), looks up CP_ATTACH_SYMBOL and calls it with a request. Afterwards the process
 * answers at its control socket (control.h), with no mode on, whatever the process's environment
 * says. The thread may then end. The request DETACH of the control socket undoes the call; the
 * library stays mapped, and may be attached again by the same function.
 */
#ifndef CP_ATTACH_H
#define CP_ATTACH_H

#include <stdint.h>

#define CP_ATTACH_VERSION 1
#define CP_ATTACH_SYMBOL "libcprof_attach"
#define CP_ATTACH_THREAD "cprof-attach"

struct cp_attach_request {
	uint32_t version; /* CP_ATTACH_VERSION */
	uint32_t flags;	  /* 0 */
	uint32_t status;  /* the caller's own; the library doesn't touch it */
	int32_t result;	  /* out: what the function returns */
	char reason[240]; /* out: after an error, a text for the user */
};

/* Catch the program's calls by the import tables of its modules, and listen at the control socket.
 * Returns 0; -EPROTO: another version; -EALREADY: attached already; -EBUSY: the program starts or
 * stops a profile; or another negative errno. Any thread that libc knows, without locks of libc or
 * of the loader. */
int libcprof_attach(struct cp_attach_request *request);

#endif
