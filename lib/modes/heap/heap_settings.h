/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap mode's settings. */
#ifndef CP_HEAP_SETTINGS_H
#define CP_HEAP_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct cp_heap_settings {
	uint64_t interval; /* CPROF_HEAP_INTERVAL, bytes; 1 = every allocation */
	/* CPROF_HEAP_BUDGET: samples a second, or CP_CONFIG_PERCENT and a share of the CPU time; 0
	 * = the interval stays */
	unsigned budget;
	/* HEAP_PROFILE_{ALLOCATION,DEALLOCATION,INUSE}_INTERVAL: bytes between numbered dumps; 0 =
	 * off */
	uint64_t allocated, freed, in_use;
	uint64_t time_ns;      /* HEAP_PROFILE_TIME_INTERVAL; 0 = off */
	char dump_at[1024];    /* CPROF_HEAP_DUMP_AT: as memory_watch.h reads it; "" = off */
	unsigned keep;	       /* CPROF_HEAP_DUMP_KEEP: how many of these dumps stay */
	bool mmap;	       /* CPROF_HEAP_MMAP: also the program's own mappings */
	bool resident;	       /* CPROF_HEAP_RESIDENT: also what is resident, swapped, untouched */
	bool lifetimes;	       /* CPROF_HEAP_LIFETIMES: also where and when blocks are freed */
	bool census;	       /* CPROF_HEAP_CENSUS: also what partly used pages keep in memory */
	unsigned census_pages; /* CPROF_HEAP_CENSUS_PAGES: one page in so many is watched */
	bool use_pid; /* HEAPPROFILE_USE_PID=1 (gperftools): pid in the name, also in the first
			 process */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_heap_settings;

#endif
