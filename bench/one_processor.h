/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps what is compared on one processor. */
#ifndef ONE_PROCESSOR_H
#define ONE_PROCESSOR_H

#include <sched.h>

/* Stay on the last processor that is allowed; programs that are started stay there, too. */
static inline void one_processor_stay(void)
{
	cpu_set_t all, one;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	while (cpu && !CPU_ISSET(cpu, &all))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

#endif
