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
	uint64_t time_ns;   /* HEAP_PROFILE_TIME_INTERVAL; 0 = off */
	char dump_at[1024]; /* CPROF_HEAP_DUMP_AT: as memory_watch.h reads it; "" = off */
	unsigned views;	    /* CPROF_HEAP_VIEWS: ask cp_heap_settings_shows */
	bool mmap;	    /* HEAP_PROFILE_MMAP: the view MMAP in any case */
	bool use_pid; /* HEAPPROFILE_USE_PID=1 (gperftools): pid in the name, also in the first
			 process */
};

/* In the order of the setting's names. */
enum cp_heap_view {
	CP_HEAP_VIEW_RESIDENT,	    /* what of the blocks is resident, swapped, untouched */
	CP_HEAP_VIEW_LIFETIMES,	    /* where and when blocks are freed */
	CP_HEAP_VIEW_FRAGMENTATION, /* what partly used pages keep in memory */
	CP_HEAP_VIEW_MMAP,	    /* the program's own mappings */
};

/* Is VIEW to be recorded? By default RESIDENT is, except in exact mode: there a dump would take a
 * quarter longer, because nothing else looks at each live block. */
bool cp_heap_settings_shows(const struct cp_heap_settings *s, enum cp_heap_view view);

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_heap_settings;

#endif
