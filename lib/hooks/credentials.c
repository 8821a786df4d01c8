/* SPDX-License-Identifier: BSD-3-Clause */
/* setuid and its relatives. libc changes all threads that it knows, so where libc knows the
 * collector nothing needs to be done here. In a program of one thread libc does not know the
 * collector. There the collector ends before the call, and starts again afterwards with the
 * program's new credentials.
 *
 * These functions may also be called in handlers, and in the child of a vfork, which is not the
 * session's process.
 */
#include <grp.h>
#include <unistd.h>

#include "session/session.h"
#include "host/real.h"
#include "unwind/unwind.h"

#define ALONE(name, parameters, arguments)                                                         \
	INTERPOSE int name parameters                                                              \
	{                                                                                          \
		bool parked = cp_session_park_raw_task();                                          \
		int result = CP_REAL(name) arguments;                                              \
                                                                                                   \
		cp_session_unpark(parked);                                                         \
		return result;                                                                     \
	}

ALONE(setuid, (uid_t id), (id))
ALONE(setgid, (gid_t id), (id))
ALONE(seteuid, (uid_t id), (id))
ALONE(setegid, (gid_t id), (id))
ALONE(setreuid, (uid_t real, uid_t effective), (real, effective))
ALONE(setregid, (gid_t real, gid_t effective), (real, effective))
ALONE(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
ALONE(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
ALONE(setgroups, (size_t n, const gid_t *groups), (n, groups))
ALONE(initgroups, (const char *user, gid_t group), (user, group))

extern int own_setuid(uid_t id)
	__attribute__((alias("setuid"), visibility("hidden"), nothrow, leaf));

/* If the library is loaded late, privately, or after libc, the program's calls don't come here. */
void init_credentials(void)
{
	if (cp_loaded_first("setuid") == (void *)(uintptr_t)own_setuid)
		cp_process_is_interposed();
}
