/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of the settings; config.h declares the functions that read them. */
#ifndef CP_CONFIG_FIELDS_H
#define CP_CONFIG_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/mode.h"

#define CP_PATH_MAX 4096

enum cp_unwind_choice { CP_UNWIND_AUTO, CP_UNWIND_FP, CP_UNWIND_DWARF, CP_UNWIND_LIBUNWIND };
/* CPROF_CONTROL; auto: while a mode is on; a path: on */
enum cp_control_choice { CP_CONTROL_AUTO, CP_CONTROL_ON, CP_CONTROL_OFF };
/* With what is added to it, the path must fit into a socket's address. */
#define CP_CONTROL_PATH 91
enum cp_symbolize_choice { CP_SYMBOLIZE_NONE, CP_SYMBOLIZE_NAMES, CP_SYMBOLIZE_FULL };

/* Room for the settings of one mode. */
#define CP_CONFIG_MODE_WORDS 144

/* config_table.c has a row for each field that a variable sets. */
struct cp_config {
	/* CPROF_UNWIND; auto: dwarf; libunwind, where it is built in, if dwarf can't be prepared;
	 * else fp (unwinder_choice.c) */
	enum cp_unwind_choice unwind;
	unsigned max_depth;	/* CPROF_MAX_DEPTH, frames, 1-4096 */
	uint64_t checkpoint_ns; /* CPROF_CHECKPOINT; 0 = off */
	int dump_signal;	/* CPROF_SIGNAL; 0 = none */
	bool dump_signal_asked; /* the user has set the signal; it isn't the default */
	int toggle_signal;	/* CPUPROFILESIGNAL; 0 = not set */
	int heap_signal;	/* HEAPPROFILESIGNAL: dumps the heap; 0 = not set */
	/* The mode that CPUPROFILE, the toggle and ProfilerStart select: CPU, or wall with
	 * CPUPROFILE_REALTIME */
	enum cprof_mode named_mode;
	bool follow;		 /* CPROF_FOLLOW */
	bool jemalloc_backtrace; /* CPROF_JEMALLOC_BACKTRACE */
	enum cp_symbolize_choice symbolize;
	enum cp_control_choice control;
	char control_path[CP_CONTROL_PATH]; /* CPROF_CONTROL=/PATH, with CONTROL on; "" = none */
	unsigned verbose;		    /* CPROF_VERBOSE, 0-1 */
	bool use_pid;	 /* CPUPROFILE_USE_PID=1 (gperftools): pid in the name, also in the first
			    process */
	char only[1024]; /* CPROF_ONLY: comma-separated globs; "" = all */
	char label_keys[1024]; /* CPROF_LABEL_KEYS: globs of keys that files may hold; "" = all */
	char labels[1024];     /* CPROF_LABELS: k=v,... on every sample; "" = none */
	char serve[256];       /* CPROF_SERVE: HOST:PORT that serves this process; "" = none */
	char push[1024];       /* CPROF_PUSH: URL that windows are pushed to; "" = none */
	bool nofile[CP_MAIN_MODES]; /* started from outside, which reads it: no file is written */
	/* The settings that belong to a mode, as the mode's own struct: cp_config_of. */
	uint64_t of_mode[CP_MAIN_MODES][CP_CONFIG_MODE_WORDS];
	/* CPUPROFILE, WALLPROFILE, HEAPPROFILE, LOCKPROFILE as given (templates are not expanded);
	 * "" = off. Only paths of modes that exist are ever read, copied or written. */
	char path[CP_MAIN_MODES][CP_PATH_MAX];
};

/* Returns the settings of MODE in C, as the mode's struct (modes/NAME/NAME_settings.h). */
static inline void *cp_config_of(const struct cp_config *c, enum cprof_mode mode)
{
	return (void *)(uintptr_t)c->of_mode[mode];
}

#endif
