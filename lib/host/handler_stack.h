/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stack the profiler's handlers use.
 *
 * They use alternate stacks (Go insists), with three exceptions: an alternate stack that has no
 * room for a handler, one that several threads share, where handlers would overwrite each other's
 * frames, and one that another thread than its owner makes unwritable, because nobody can give its
 * owner a better one. An alternate stack on which a handler of the program runs may have room for
 * one signal's frame but not for two: host/signal/altstack.h.
 */
#ifndef CP_HANDLER_STACK_H
#define CP_HANDLER_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the flags for a handler of the profiler. Any context. */
int cp_handler_stack_flags(int sig);
/* Return true once an alternate stack of the program had no room for a handler, or was made
 * unwritable by another thread. Any context. */
bool cp_handler_stack_is_useless(void);
/* Return true if this thread is on an alternate stack. Async-signal-safe. */
bool cp_handler_stack_is_alternate(void);

/* Check the calling thread's alternate stack, which has changed. Returns what speaks against it and
 * was not yet reported by cp_handler_stack_left; 0 if nothing does. If not 0, put the new flags
 * into the kernel, and then call cp_handler_stack_left with the result. Async-signal-safe. */
uint32_t cp_handler_stack_look(void);
/* The same before the calling thread makes SIZE bytes at AT unwritable, which may be the alternate
 * stack of another thread. */
uint32_t cp_handler_stack_look_at(const void *at, size_t size);
void cp_handler_stack_left(uint32_t why);

#endif
