/* SPDX-License-Identifier: BSD-3-Clause */
/* Events without a stack, on their way from any thread to the time indexes: spans that ended, and
 * sampled blocks that were allocated or freed. Lock-free; any context. Full, it loses new entries
 * and counts them (CP_COUNT_LOST_TIMES). */
#ifndef CP_DIARY_H
#define CP_DIARY_H

#include <stdbool.h>
#include <stdint.h>

enum cp_diary_kind { CP_DIARY_SPAN, CP_DIARY_BIRTH, CP_DIARY_DEATH };

struct cp_diary_entry {
	uint64_t begin_ns, end_ns; /* monotonic; of a birth, the same */
	uint64_t size;		   /* a span: how many it stands for; a block: its bytes */
	uint32_t what;		   /* a span: its kind's number; a block: its entry in the depot */
	uint32_t thread;	   /* the record of the thread; CP_DIARY_NOBODY: it has none */
	int32_t tid;
	uint8_t kind; /* enum cp_diary_kind */
};

#define CP_DIARY_NOBODY UINT32_MAX

/* Makes the ring. Returns false without memory: every add fails then. */
bool cp_diary_open(void);
/* Adds E of the calling thread, whose fields it fills in. Returns false if E is lost. */
bool cp_diary_add(const struct cp_diary_entry *e);
/* The reader, under the collector's lock. next returns the oldest entry before the last mark, or
 * false. */
void cp_diary_mark(void);
bool cp_diary_next(struct cp_diary_entry *e);
/* In a fork child: forgets all entries. */
void cp_diary_fork_child(void);

#endif
