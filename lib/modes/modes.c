/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of modes; see output.h. A mode is one folder and one row: its number in cprof.h, and
 * its cp_mode_NAME. Companions have rows of their own. */
#include "output/output.h"

/* clang-format off */
#define MODES(ROW) \
	ROW(CPROF_CPU, cpu) \
	ROW(CPROF_WALL, wall) \
	ROW(CPROF_HEAP, heap) \
	ROW(CPROF_HEAP_PEAK, peak) \
	ROW(CPROF_HEAP_MMAP, mmap) \
	ROW(CPROF_HEAP_LIFETIMES, lifetimes) \
	ROW(CPROF_HEAP_FRAGMENTATION, fragmentation) \
	ROW(CPROF_LOCK, lock) \
	ROW(CPROF_LOCK_HOLDERS, holders) \
	ROW(CPROF_LOCK_WAKERS, wakers) \
	ROW(CPROF_EVENT, event) \
	ROW(CPROF_IO, io) \
	ROW(CPROF_IO_WAKERS, io_wakers)

#define DECLARE(number, name) extern const struct cp_mode_ops cp_mode_##name;
#define ENTRY(number, name) [number] = &cp_mode_##name,
/* clang-format on */

MODES(DECLARE)

const struct cp_mode_ops *const cp_modes[CP_MODES] = { MODES(ENTRY) };
