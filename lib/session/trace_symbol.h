/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the variable in which an OpenTelemetry SDK publishes each thread's trace:
 * sample/trace_context.h. Ordinary context. */
#ifndef CP_TRACE_SYMBOL_H
#define CP_TRACE_SYMBOL_H

/* Sets cp_trace_context_at if the program, or a library that it started with, has the variable, and
 * unless the settings leave the labels out. */
void cp_trace_symbol_find(void);

#endif
