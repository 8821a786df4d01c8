/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves the originals of the lock mode's hooks; see lock.h. */
#include "modes/lock/lock.h"

#include "base/start_data.h"
#include "host/real.h"

struct cp_lock_real cp_lock_real CP_START_DATA;

#define WANTED(minor, type, name, parameters)                                                      \
	{ .at = offsetof(struct cp_lock_real, name), .since = minor },
static const struct cp_real_wanted wanted[] = { CP_LOCK_REAL_FUNCTIONS(WANTED) };
#define NAME(minor, type, name, parameters) #name "\0"
static const char wanted_names[] = CP_LOCK_REAL_FUNCTIONS(NAME);

int cp_lock_real_resolve(void)
{
	return cp_real_find(&cp_lock_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);
}
