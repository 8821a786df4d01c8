/* Which spans were slow. Each span has a serial number while CPROF_SPAN_SLOW is set; when it ends,
 * its duration is kept where whoever holds samples of it can look it up: for the last 65,536 spans.
 *
 * Written by the span's thread with one store, read by the collector. */
#ifndef CP_SLOW_H
#define CP_SLOW_H

#include <stdint.h>

enum cp_slow_state { CP_SLOW_OPEN, CP_SLOW_NO, CP_SLOW_YES };

/* From THRESHOLD_NS on a span is slow; 0 = none is. Ordinary context. 0 or -ENOMEM. */
int cp_slow_configure(uint64_t threshold_ns);
/* The number of a span that begins now; 0: nobody asks. */
uint32_t cp_slow_begin(void);
void cp_slow_end(uint32_t serial, uint64_t lasted_ns);
/* What became of SERIAL; *MS when it was slow. One that ended too long ago is not. */
enum cp_slow_state cp_slow_look(uint32_t serial, uint32_t *ms);

#endif
