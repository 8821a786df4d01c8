/* The settings: what the environment (or an options struct) asks for. */
#ifndef CP_CONFIG_H
#define CP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/mode.h"

#define CP_PATH_MAX 4096

enum cp_unwind_choice { CP_UNWIND_AUTO, CP_UNWIND_FP, CP_UNWIND_DWARF, CP_UNWIND_LIBUNWIND };
enum cp_engine_choice { CP_ENGINE_AUTO, CP_ENGINE_TIMER, CP_ENGINE_PERF, CP_ENGINE_ITIMER };
enum cp_symbolize_choice { CP_SYMBOLIZE_NONE, CP_SYMBOLIZE_NAMES, CP_SYMBOLIZE_FULL };

struct cp_config {
	/* CPUPROFILE, WALLPROFILE, HEAPPROFILE, LOCKPROFILE as given (templates not expanded); "" =
	 * off */
	char path[CP_MAIN_MODES][CP_PATH_MAX];
	unsigned cpu_frequency; /* CPUPROFILE_FREQUENCY, Hz, 1-10000 */
	enum cp_engine_choice engine;
	enum cp_unwind_choice unwind;
	unsigned max_depth;	  /* CPROF_MAX_DEPTH, frames, 1-4096 */
	uint64_t checkpoint_ns;	  /* CPROF_CHECKPOINT; 0 = off */
	int dump_signal;	  /* CPROF_SIGNAL; 0 = none */
	int toggle_signal;	  /* CPUPROFILESIGNAL; 0 = not set */
	enum cp_mode toggle_mode; /* what it toggles: CPU, or wall with CPUPROFILE_REALTIME */
	bool follow;		  /* CPROF_FOLLOW */
	enum cp_symbolize_choice symbolize;
	unsigned verbose;	 /* CPROF_VERBOSE, 0-1 */
	unsigned wall_frequency; /* WALLPROFILE_FREQUENCY, Hz, 1-1000 */
	uint64_t heap_interval;	 /* CPROF_HEAP_INTERVAL, bytes; 1 = every allocation */
	/* HEAP_PROFILE_{ALLOCATION,DEALLOCATION,INUSE}_INTERVAL, bytes: a numbered dump after each;
	 * 0 = off */
	uint64_t heap_allocated, heap_freed, heap_inuse;
	uint64_t heap_time_ns;	    /* HEAP_PROFILE_TIME_INTERVAL; 0 = off */
	int heap_signal;	    /* HEAPPROFILESIGNAL: dump the heap; 0 = not set */
	bool heap_mmap;		    /* CPROF_HEAP_MMAP: also the program's own mappings */
	uint64_t lock_threshold_ns; /* CPROF_LOCK_THRESHOLD: shorter waits have no stack */
	unsigned lock_budget;	    /* CPROF_LOCK_BUDGET: stacks a second and thread */
	uint64_t span_slow_ns;	    /* CPROF_SPAN_SLOW: from here on a span is slow; 0 = off */
	bool use_pid;	 /* CPUPROFILE_USE_PID=1 (gperftools): pid in the name, also of the first
			    process */
	char only[1024]; /* CPROF_ONLY: comma-separated globs; "" = all */
	char label_keys[1024]; /* CPROF_LABEL_KEYS: globs of keys that files may hold; "" = all */
	char labels[1024];     /* CPROF_LABELS: k=v,... on every sample; "" = none */
};

/* The documented defaults, all modes off. */
void cp_config_defaults(struct cp_config *c);

/* Set the defaults, then read the environment over them. NAME(key) returns a variable's value or
 * NULL (secure_getenv in the library). A value that can't be read gets one line on stderr naming
 * the variable, the value, what is accepted and what is used instead. Nothing is printed when no
 * mode is on. */
void cp_config_read(struct cp_config *c, const char *(*name)(const char *key));

/* The same without a line: for descendants of a process that has said it all already, and
 * for programs that CPROF_ONLY leaves out. */
void cp_config_read_quietly(struct cp_config *c, const char *(*name)(const char *key));

/* A mode is on. */
bool cp_config_any(const struct cp_config *c);
/* Its variable: "CPUPROFILE". */
const char *cp_config_variable(unsigned mode);

/* What C says of mode M, its path included, becomes TO's. */
void cp_config_take_mode(struct cp_config *to, const struct cp_config *c, unsigned m);

/* PROGRAM (a basename) matches CPROF_ONLY's globs (*, ?, [a-z]), or ONLY is empty. */
bool cp_config_wants_program(const struct cp_config *c, const char *program);

#endif
