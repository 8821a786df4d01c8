/* Wall samples of slow spans; see wall_slow.c. Under the collector's lock. */
#ifndef CP_WALL_SLOW_H
#define CP_WALL_SLOW_H

#include <stdint.h>

#include "run.h"

/* A row's tag: its state, and how long its span lasted where that was slow. */
#define CP_WALL_ROW_TAG(state, ms) ((uint64_t)(state) | ((uint64_t)(ms) + 1) << 8)
#define CP_WALL_ROW_STATE(tag) ((tag)&0xff)
#define CP_WALL_ROW_MS(tag) ((int64_t)((tag) >> 8) - 1) /* -1: not slow */

/* PERIODS and NS of what ROW has are of a span that is open. */
void cp_wall_slow_note(struct cp_run *r, uint32_t span, uint32_t row, uint64_t periods,
		       uint64_t ns);
/* What is known by now stands in rows. */
void cp_wall_slow_settle(struct cp_run *r);
/* Rows of an earlier run. */
void cp_wall_slow_forget(void);
/* After a fork, in the child: rows of the parent. */
void cp_wall_slow_abandon(void);

#endif
