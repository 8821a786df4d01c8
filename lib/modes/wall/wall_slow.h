/* SPDX-License-Identifier: BSD-3-Clause */
/* Wall samples of slow spans; see wall_slow.c. Under the collector's lock. */
#ifndef CP_WALL_SLOW_H
#define CP_WALL_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/wall/wall_cause.h"
#include "output/run.h"

/* A row's tag: its state, why the thread waits (wall_cause.h), and the length of its span where the
 * span was slow. */
#define CP_WALL_ROW_TAG(state, wait) ((uint64_t)(state) | (uint64_t)(wait) << 4)
#define CP_WALL_ROW_STATE(tag) ((tag)&0xf)
#define CP_WALL_ROW_WAIT(tag) ((uint32_t)((tag) >> 4) & ((1u << CP_WALL_WAIT_BITS) - 1))
#define CP_WALL_ROW_MS_SHIFT (4 + CP_WALL_WAIT_BITS)
#define CP_WALL_ROW_SLOW(tag, ms) ((tag) | ((uint64_t)(ms) + 1) << CP_WALL_ROW_MS_SHIFT)
#define CP_WALL_ROW_MS(tag) ((int64_t)((tag) >> CP_WALL_ROW_MS_SHIFT) - 1) /* -1: not slow */

/* Note that NS that were seen in ROW belong to SPAN, which is open. */
void cp_wall_slow_note(struct cp_run *r, uint32_t span, uint32_t row, uint64_t ns);
/* Put the results that are known so far into rows. LAST: rows are settled next, and what was seen
 * in spans that are still open stays there. */
void cp_wall_slow_settle(struct cp_run *r, bool last);
/* Forget the rows of an earlier run. */
void cp_wall_slow_forget(void);
/* Forget the parent's rows in a fork child. */
void cp_wall_slow_abandon(void);

#endif
