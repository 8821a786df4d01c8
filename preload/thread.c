/* pthread_create and thrd_create: every thread starts through our trampoline, which registers
 * it.
 */
#include <pthread.h>

#include "interpose.h"
#include "real.h"
#include "process.h"
#include "sigsafe/held.h"
#include "threads.h"

/* libc's <threads.h> has these; older ones have no such header. */
#define THRD_ERROR 2
INTERPOSE int thrd_create(pthread_t *thread, int (*start)(void *), void *argument);

/* The new thread takes the mask as the program believes it, and adopts it. */
static bool creation_begins(void)
{
	init_watch_exit();
	return cp_held_reveal();
}

/* Ours, if another is needed, comes after the program's: that may be the last one it may have, and
 * where it could not be made the program still has one thread. */
static void creation_ends(bool revealed, int err, struct cp_thread *t)
{
	if (revealed)
		cp_held_conceal();
	if (err)
		cp_thread_free(t);
	else
		cp_process_thread_created();
}

INTERPOSE int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			     void *argument)
{
	struct cp_thread *t;
	bool revealed;
	int err;

	cp_process_leave_others();
	t = cp_threads_prepare(attr, start, argument);
	if (!t)
		return CP_REAL(pthread_create)(thread, attr, start, argument);
	revealed = creation_begins();
	err = CP_REAL(pthread_create)(thread, attr, cp_threads_entry, t);
	creation_ends(revealed, err, t);
	return err;
}

/* libc's own calls its pthread_create, not ours. */
INTERPOSE int thrd_create(pthread_t *thread, int (*start)(void *), void *argument)
{
	struct cp_thread *t;
	bool revealed;
	int err;

	if (!CP_REAL(thrd_create))
		return THRD_ERROR;
	cp_process_leave_others();
	t = cp_threads_prepare_c11(start, argument);
	if (!t)
		return CP_REAL(thrd_create)(thread, start, argument);
	revealed = creation_begins();
	err = CP_REAL(thrd_create)(thread, cp_threads_entry_c11, t);
	creation_ends(revealed, err, t);
	return err;
}
