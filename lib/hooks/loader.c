/* SPDX-License-Identifier: BSD-3-Clause */
/* dlclose: samples in the module get its identity before the module is unloaded, and no capture
 * reads its unwind data meanwhile. dlopen is not interposed: it would search with this library as
 * the caller (RUNPATH, $ORIGIN). docs/architecture.md, "What happens at dlclose", has the order of
 * the steps and its reasons.
 */
#include <dlfcn.h>

#include "unwind/unwind.h"
#include "modes/heap/heap.h"
#include "host/real.h"
#include "session/session.h"

/* Stacks may also be taken without a session, by cprof_backtrace. */
static int close_without_session(void *handle)
{
	unsigned before;
	int result;

	if (!cp_capture_settings.unwinder || cp_profiled_retired() || cp_fork_mark_is_gone())
		return CP_REAL(dlclose)(handle);
	before = cp_dlclose_gate_begin(__builtin_frame_address(0));
	result = CP_REAL(dlclose)(handle);
	cp_dlclose_gate_end(before, NULL);
	return result;
}

INTERPOSE int dlclose(void *handle)
{
	struct cp_module_diff *unloaded;
	unsigned before;
	int result;

	if (!cp_profiled_is_ours())
		return close_without_session(handle);
	cp_session_drain_unloading();
	before = cp_dlclose_gate_begin(__builtin_frame_address(0));
	unloaded = cp_heap_before_unload();
	result = CP_REAL(dlclose)(handle);
	cp_dlclose_gate_end(before, unloaded);
	/* Drain the samples of the module's destructors before another module can take its place.
	 */
	cp_session_drain_rest();
	return result;
}
