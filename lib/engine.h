/* The choice of an unwinder, and the wake-up that captures use. */
#ifndef CP_ENGINE_H
#define CP_ENGINE_H

#include "config.h"
#include "sigsafe/unwind.h"

/* The unwinder for CHOICE, prepared; where it can't work here, one line on stderr and the next
 * best. Ordinary context. */
const struct cp_unwinder *cp_engine_unwinder(enum cp_unwind_choice choice);

/* cp_capture_settings.wake */
void cp_engine_wake(void);

#endif
