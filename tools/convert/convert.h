/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof convert`'s writers; each takes a struct ct_convert. See flame.h. */
#ifndef CT_CONVERT_H
#define CT_CONVERT_H

#include "core/model.h"

struct ct_convert {
	const struct ct_profile *profile;
	const char *name;   /* name of the profile in the reader */
	size_t type;	    /* type that is shown first */
	bool threads;	    /* a profile for each thread */
	struct ct_pgo *pgo; /* for the formats of pgo.h */
	int *error;	    /* gets a negative errno that isn't due to the file */
};

void ct_convert_speedscope(const void *what, FILE *to);
void ct_convert_callgrind(const void *what, FILE *to);

extern const struct ct_verb ct_verb_convert;

/* trace.c
 *
 * All files of a run as what each thread did when, for the viewers that draw it: the Firefox
 * Profiler and Perfetto.
 */

struct ct_trace_item {
	enum ct_trace_kind {
		CT_TRACE_SAMPLE, /* running */
		CT_TRACE_WAIT,	 /* or a call; has a stack */
		CT_TRACE_SPAN,
		CT_TRACE_ALLOCATION, /* WEIGHT: bytes; negative: freed */
		CT_TRACE_WAKE,	     /* this thread was woken by OTHER */
	} kind;
	uint64_t begin, duration; /* ns, since the trace's start */
	double weight;		  /* of a sample: ns */
	const char *name;
	uint32_t stack, other; /* CT_NONE: none */
};

struct ct_trace_thread {
	int64_t pid, tid;
	const char *name, *process;
	uint64_t begin, end; /* END 0: alive at the end */
	struct ct_trace_item *items;
	size_t count, room;
};

struct ct_trace_memory {
	int64_t pid;
	uint64_t when, resident;
};

/* A stack is a frame and the stack of its caller, which comes before it; CT_NONE: there is none. */
struct ct_trace_stack {
	uint32_t caller, frame;
};

struct ct_trace {
	int64_t start; /* ns since 1970 */
	uint64_t end;  /* since START */
	double period; /* of samples, in ns */
	struct ct_profile **profiles;
	struct ct_frames *frames;
	struct ct_trace_stack *stacks;
	struct ct_trace_thread *threads; /* a process's first one comes first */
	struct ct_trace_memory *memory;
	size_t profile_count, stack_count, thread_count, memory_count;
	size_t stack_room, thread_room, memory_room;
};

/* Reads FILES, the profiles of one run. Items are in the order of their begin, longer ones first.
 * Returns false after a message; release T in either case. */
bool ct_trace_open(struct ct_trace *t, char *const *files, int count);
void ct_trace_release(struct ct_trace *t);
/* Is thread I the first one of its process in T? */
bool ct_trace_is_main(const struct ct_trace *t, size_t i);

/* Writers; each takes a struct ct_trace. trace_firefox.c: the Firefox Profiler's processed format,
 * version 60, which its page brings up to date. */
void ct_trace_firefox_write(const void *trace, FILE *to);
/* trace_perfetto.c: Perfetto's protobuf. */
void ct_trace_perfetto_write(const void *trace, FILE *to);

#endif
