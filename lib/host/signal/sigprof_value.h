/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of the profiler's own SIGPROFs. */
#ifndef CP_SIGPROF_VALUE_H
#define CP_SIGPROF_VALUE_H

#include <stdint.h>

#include "sample/mode.h"
#include "sample/thread.h"

/* The value of one of the profiler's timers: this tag, the timer's mode, and the index of the
 * thread's record. So the handler needs no TLS. */
#define CP_SIGPROF_TAG UINT64_C(0x6370726600000000) /* "cprf" */
#define CP_SIGPROF_TAG_MASK UINT64_C(0xffffffff00000000)
#define CP_SIGPROF_MODE_SHIFT 24
#define CP_SIGPROF_INDEX_MASK ((UINT64_C(1) << CP_SIGPROF_MODE_SHIFT) - 1)

/* Return the value for a timer of MODE in thread T. */
static inline uint64_t cp_sigprof_value(enum cprof_mode mode, const struct cp_thread *t)
{
	return CP_SIGPROF_TAG | (uint64_t)mode << CP_SIGPROF_MODE_SHIFT | t->index;
}

#endif
