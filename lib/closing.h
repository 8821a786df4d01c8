/* A dlclose of the calling thread: from the closing of the gate to its opening.
 *
 * A destructor may leave dlclose without a return: by longjmp, or by the end of its thread.
 * Captures would then take no module for stable for ever. What was left so is over when the same
 * thread calls dlclose again from no deeper, or when an outer dlclose returns, or when the thread
 * ends.
 */
#ifndef CP_CLOSING_H
#define CP_CLOSING_H

/* FRAME: of the caller's, dlclose. How many the thread was in before, for cp_closing_end. Waits. */
unsigned cp_closing_begin(const void *frame);
/* What is known of modules is forgotten, and the thread is in BEFORE of them. UNLOADED: of
 * cp_heap_before_unload. */
struct cp_unloaded;
void cp_closing_end(unsigned before, struct cp_unloaded *unloaded);
/* The thread ends. */
void cp_closing_abandon(void);

#endif
