/* SPDX-License-Identifier: BSD-3-Clause */
#include <cprof.h>
#include <gperftools/profiler.h>
#include <stdio.h>

int main(void)
{
	puts(cprof_version());
	return ProfilingIsEnabledForAllThreads() < 0;
}
