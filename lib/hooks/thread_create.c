/* SPDX-License-Identifier: BSD-3-Clause */
/* pthread_create and thrd_create: every thread starts in a function of the profiler, which
 * registers it.
 */
#include <errno.h>

#include "host/real.h"
#include "session/session.h"
#include "collect/collect.h"
#include "modes/wall/wall.h"

/* Declared in libc's <threads.h>; older versions have no such header. */
#define THRD_ERROR 2
INTERPOSE int thrd_create(pthread_t *thread, int (*start)(void *), void *argument);

/* Prepare the creation: the new thread inherits the mask that the program believes in, and then
 * converts it to the program's view. */
static bool creation_begins(struct cp_thread *t)
{
	init_watch_exit();
	cp_wall_timer_thread_created(t);
	return cp_deferred_apply_mask();
}

/* Finish the creation. The collector's thread, if needed, is made after the program's: the
 * program's may be the last one that the process may have, and if it could not be made, the program
 * still has one thread. */
static void creation_ends(bool applied, int err, struct cp_thread *t)
{
	if (applied)
		cp_deferred_revert_mask();
	if (err)
		cp_thread_free(t);
	/* Also after an error, because the collector may have given way in vain. */
	cp_process_thread_created();
}

INTERPOSE int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			     void *argument)
{
	struct cp_thread *t;
	pthread_attr_t own;
	bool applied;
	int err;

	cp_process_leave_others();
	attr = cp_libc_roomy(attr, &own);
	t = cp_threads_prepare(attr, start, argument);
	if (!t)
		return CP_REAL(pthread_create)(thread, attr, start, argument);
	applied = creation_begins(t);
	err = CP_REAL(pthread_create)(thread, attr, cp_threads_entry, t);
	if (err && cp_process_gives_way(err))
		err = CP_REAL(pthread_create)(thread, attr, cp_threads_entry, t);
	creation_ends(applied, err, t);
	return err;
}

/* libc's thrd_create calls libc's pthread_create, not the interposed one. */
INTERPOSE int thrd_create(pthread_t *thread, int (*start)(void *), void *argument)
{
	struct cp_thread *t;
	bool applied;
	int err;

	if (!CP_REAL(thrd_create))
		return THRD_ERROR;
	cp_process_leave_others();
	t = cp_threads_prepare_c11(start, argument);
	if (!t)
		return CP_REAL(thrd_create)(thread, start, argument);
	applied = creation_begins(t);
	err = CP_REAL(thrd_create)(thread, cp_threads_entry_c11, t);
	/* Any error is THRD_ERROR or "no memory". */
	if (err && cp_process_gives_way(EAGAIN))
		err = CP_REAL(thrd_create)(thread, cp_threads_entry_c11, t);
	creation_ends(applied, err, t);
	return err;
}
