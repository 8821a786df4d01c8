/* Is this memory ours still, or a copy of it? A child that clone() made as fork would is told of by
 * no fork handler. One that shares our memory, as a vfork's child does, sees it as we do.
 */
#ifndef CP_MARK_H
#define CP_MARK_H

#include <stdbool.h>

/* At each start, and in the child of a fork that is known. Ordinary context. */
void cp_mark_set(void);
/* A fork is about to copy it, or has; in the child that is true until it is set, whatever other
 * handlers of forks do there before ours. */
void cp_mark_expect(bool fork);
/* It was set, and then the memory copied unexpectedly. Async-signal-safe. */
bool cp_mark_is_gone(void);

#endif
