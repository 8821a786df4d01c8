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
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "host/host.h"
#include "session/session.h"
#include "host/real.h"
#include "unwind/unwind.h"

#define RETURN_ALONE(call)                                                                         \
	bool parked = cp_session_park_raw_task();                                                  \
	int result = (call);                                                                       \
                                                                                                   \
	cp_session_unpark(parked);                                                                 \
	return result

INTERPOSE int setuid(uid_t id)
{
	RETURN_ALONE(CP_REAL(setuid)(id));
}

INTERPOSE int setgid(gid_t id)
{
	RETURN_ALONE(CP_REAL(setgid)(id));
}

INTERPOSE int seteuid(uid_t id)
{
	RETURN_ALONE(CP_REAL(seteuid)(id));
}

INTERPOSE int setegid(gid_t id)
{
	RETURN_ALONE(CP_REAL(setegid)(id));
}

INTERPOSE int setreuid(uid_t real, uid_t effective)
{
	RETURN_ALONE(CP_REAL(setreuid)(real, effective));
}

INTERPOSE int setregid(gid_t real, gid_t effective)
{
	RETURN_ALONE(CP_REAL(setregid)(real, effective));
}

INTERPOSE int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	RETURN_ALONE(CP_REAL(setresuid)(real, effective, saved));
}

INTERPOSE int setresgid(gid_t real, gid_t effective, gid_t saved)
{
	RETURN_ALONE(CP_REAL(setresgid)(real, effective, saved));
}

INTERPOSE int setgroups(size_t n, const gid_t *groups)
{
	RETURN_ALONE(CP_REAL(setgroups)(n, groups));
}

INTERPOSE int initgroups(const char *user, gid_t group)
{
	RETURN_ALONE(CP_REAL(initgroups)(user, group));
}

extern int own_setuid(uid_t id)
	__attribute__((alias("setuid"), visibility("hidden"), nothrow, leaf));

/* If the library is loaded late, privately, or after libc, the program's calls don't come here. */
void init_credentials(void)
{
	if (cp_loaded_first("setuid") == (void *)(uintptr_t)own_setuid)
		cp_process_is_interposed();
}
