/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells which spans were slow. While CPROF_SPAN_SLOW is set, each span has a serial number. When a
 * span ends, its duration is stored, so that the holder of its samples can look it up. The store
 * keeps the last 65,536 spans.
 *
 * The span's thread writes with one store; the collector reads.
 */
#ifndef CP_SLOW_SPANS_H
#define CP_SLOW_SPANS_H

#include <stdint.h>

enum cp_slow_spans_state { CP_SLOW_SPANS_OPEN, CP_SLOW_SPANS_NO, CP_SLOW_SPANS_YES };

/* Spans of at least THRESHOLD_NS are slow; 0 turns this off. Returns 0 or -ENOMEM. Ordinary
 * context. */
int cp_slow_spans_configure(uint64_t threshold_ns);
/* Returns the serial number of a span that begins now; 0 if slow spans are off. */
uint32_t cp_slow_spans_begin(void);
void cp_slow_spans_end(uint32_t serial, uint64_t lasted_ns);
/* Returns the state of SERIAL, and its duration in *MS if it was slow. A span that ended too long
 * ago counts as not slow. */
enum cp_slow_spans_state cp_slow_spans_look(uint32_t serial, uint32_t *ms);

#endif
