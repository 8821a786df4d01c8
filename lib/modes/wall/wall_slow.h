/* SPDX-License-Identifier: BSD-3-Clause */
/* Wall samples of slow spans; see wall_slow.c. Under the collector's lock. */
#ifndef CP_WALL_SLOW_H
#define CP_WALL_SLOW_H

#include <stdint.h>

#include "output/run.h"

/* A row's tag: its state, and the length of its span where the span was slow. */
#define CP_WALL_ROW_TAG(state, ms) ((uint64_t)(state) | ((uint64_t)(ms) + 1) << 8)
#define CP_WALL_ROW_STATE(tag) ((tag)&0xff)
#define CP_WALL_ROW_MS(tag) ((int64_t)((tag) >> 8) - 1) /* -1: not slow */

/* Note that PERIODS and NS of ROW belong to SPAN, which is open. */
void cp_wall_slow_note(struct cp_run *r, uint32_t span, uint32_t row, uint64_t periods,
		       uint64_t ns);
/* Put the results that are known so far into rows. */
void cp_wall_slow_settle(struct cp_run *r);
/* Forget the rows of an earlier run. */
void cp_wall_slow_forget(void);
/* Forget the parent's rows in a fork child. */
void cp_wall_slow_abandon(void);

#endif
