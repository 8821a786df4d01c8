/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace and span that a thread works on, where an OpenTelemetry SDK publishes them: the
 * thread-local variable otel_thread_ctx_v1, a pointer to a record (OTEP 4947).
 *
 * Everything is read through the kernel and checked, because the program may have freed the record,
 * or may have another thing of that name. A record that is not marked as valid counts as none; it
 * is so marked whenever its thread may be interrupted. Of a thread that is looked at from outside,
 * the caller must find out whether it waited all along.
 */
#ifndef CP_TRACE_CONTEXT_H
#define CP_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define CP_TRACE_SYMBOL "otel_thread_ctx_v1"
/* The labels that samples get. */
#define CP_TRACE_LABEL "trace_id"
#define CP_SPAN_LABEL "span_id"

struct cp_trace_ids {
	uint8_t trace[16], span[8];
};

/* Where the variable is, from a thread's TLS base; 0: there is none, and nobody asks. Set before
 * the first sample. */
extern int64_t cp_trace_context_at;

/* Reads what the thread with TLS base TLS is working on. Returns false if there is no variable, no
 * record, or no valid one. Needs two system calls. Any context, any thread. */
bool cp_trace_context_read(uint64_t tls, struct cp_trace_ids *to);

#endif
