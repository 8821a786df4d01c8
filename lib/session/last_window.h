/* SPDX-License-Identifier: BSD-3-Clause */
/* The end, by exit or exec, of a program that others take windows of. */
#ifndef CP_LAST_WINDOW_H
#define CP_LAST_WINDOW_H

/* Sends each consumer that listens (base/control.h) what its mode has seen since its last window.
 * All samples are drained. Waits for nobody: a consumer
 * that can't be reached at once has lost its window. If an exec fails afterwards, the next window
 * begins where this one ended. Under the collector's lock. */
void cp_last_window_send(void);

#endif
