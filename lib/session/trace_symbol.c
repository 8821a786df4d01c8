/* SPDX-License-Identifier: BSD-3-Clause */
/* See trace_symbol.h.
 *
 * The variables of the modules that a program starts with are in static TLS, at the same distance
 * from every thread's TLS base. Those of a module that is opened later may be anywhere. The loader
 * doesn't say which kind a variable is; its distance does.
 */
#include "session/trace_symbol.h"

#include <stdint.h>

#include "base/arch.h"
#include "base/atomic.h"
#include "sample/trace_context.h"
#include "session/session.h"
#include "unwind/loaded.h"

/* More than the static TLS of any program; blocks that are made later are further away, or on the
 * other side. */
#define NEAR 65536

void cp_trace_symbol_find(void)
{
	const char *variable, *tls = cp_thread_pointer();
	int64_t at = 0;

	if (cp_session_keeps_label(CP_TRACE_LABEL) && cp_session_keeps_label(CP_SPAN_LABEL)) {
		variable = cp_loaded_first(CP_TRACE_SYMBOL);
		at = variable ? variable - tls : 0;
	}
#ifdef __x86_64__
	at = -at;
#endif
	if (at <= 0 || at >= NEAR)
		at = 0;
#ifdef __x86_64__
	at = -at;
#endif
	cp_store_relaxed(&cp_trace_context_at, at);
}
