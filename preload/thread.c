/* pthread_create: every thread starts through our trampoline, which registers it. */
#include <pthread.h>

#include "interpose.h"
#include "real.h"
#include "process.h"
#include "sigsafe/held.h"
#include "threads.h"

INTERPOSE int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			     void *argument)
{
	struct cp_thread *t = cp_threads_prepare(attr, start, argument);
	bool blocked;
	int err;

	if (!t)
		return CP_REAL(pthread_create)(thread, attr, start, argument);
	cp_process_thread_created();
	/* The new thread takes the mask as the program believes it, and adopts it. */
	blocked = cp_held_blocked();
	if (blocked)
		cp_held_really_block(true);
	err = CP_REAL(pthread_create)(thread, attr, cp_threads_entry, t);
	if (blocked)
		cp_held_really_block(false);
	if (err)
		cp_thread_free(t);
	return err;
}
