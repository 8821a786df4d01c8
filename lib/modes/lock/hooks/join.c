/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for the end of a thread. They are no waits for a lock, so only the file of wakers has them:
 * the function with which the thread began ended the wait.
 */

#include "modes/lock/hooks/waits.h"

static bool follows(void)
{
	return __builtin_expect((cp_load_relaxed(&cp_wakes_on) & CP_WAKES_OF_LOCK) != 0, 0);
}

/* Join THREAD if it has ended already, which is no wait. Returns true if that is done. */
static bool is_joined(pthread_t thread, void **value)
{
	return CP_LOCK_REAL(pthread_tryjoin_np)(thread, value) == 0;
}

/* Call REAL, which waits for THREAD. TIMED_OUT: the result of a wait that took too long. */
#define JOIN(thread, timed_out, real, ...)                                                         \
	({                                                                                         \
		struct cp_wakes_wait wait_;                                                        \
		const void *object_ = (const void *)(thread);                                      \
		int result_;                                                                       \
                                                                                                   \
		cp_lock_wake_wait(&wait_, object_, cp_lock_event_begin(), 0);                      \
		result_ = (real)(__VA_ARGS__);                                                     \
		if (result_ == 0 || result_ == (timed_out))                                        \
			cp_wakes_end(&wait_, CP_WAKES_OF_LOCK,                                     \
				     result_ ? CP_WAKES_TIMED_OUT : CP_WAKES_WOKEN, 0,             \
				     (const void *)(real));                                        \
		else                                                                               \
			cp_wakes_cancel(&wait_);                                                   \
		result_;                                                                           \
	})

INTERPOSE int pthread_join(pthread_t thread, void **value)
{
	if (!follows())
		return CP_LOCK_REAL(pthread_join)(thread, value);
	if (is_joined(thread, value))
		return 0;
	return JOIN(thread, ETIMEDOUT, CP_LOCK_REAL(pthread_join), thread, value);
}

INTERPOSE int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *until)
{
	if (!follows())
		return CP_LOCK_REAL(pthread_timedjoin_np)(thread, value, until);
	if (is_joined(thread, value))
		return 0;
	return JOIN(thread, ETIMEDOUT, CP_LOCK_REAL(pthread_timedjoin_np), thread, value, until);
}

INTERPOSE int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
				   const struct timespec *until);
INTERPOSE int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
				   const struct timespec *until)
{
	if (!CP_LOCK_REAL(pthread_clockjoin_np)) /* before glibc 2.31 */
		return ENOSYS;
	if (!follows() || !waits_by(clock))
		return CP_LOCK_REAL(pthread_clockjoin_np)(thread, value, clock, until);
	if (is_joined(thread, value))
		return 0;
	return JOIN(thread, ETIMEDOUT, CP_LOCK_REAL(pthread_clockjoin_np), thread, value, clock,
		    until);
}

INTERPOSE int thrd_join(thrd_t thread, int *value)
{
	void *joined;

	if (!follows())
		return CP_LOCK_REAL(thrd_join)(thread, value);
	if (is_joined((pthread_t)thread, &joined)) {
		if (value)
			*value = (int)(intptr_t)joined;
		return thrd_success;
	}
	return JOIN(thread, thrd_success, CP_LOCK_REAL(thrd_join), thread, value);
}
