/* SPDX-License-Identifier: BSD-3-Clause */
/* dlclose: samples in the module get its identity before the module is unloaded, and no capture
 * reads its unwind data meanwhile. dlopen is not interposed: it would search with this library as
 * the caller (RUNPATH, $ORIGIN).
 */
#include <dlfcn.h>

#include "unwind/dlclose_gate.h"
#include "host/profiled.h"
#include "modes/heap/heap.h"
#include "host/hooks/interpose.h"
#include "host/real.h"
#include "session/session.h"

INTERPOSE int dlclose(void *handle)
{
	struct cp_module_diff *unloaded;
	unsigned before;
	int result;

	if (!cp_profiled_is_ours())
		return CP_REAL(dlclose)(handle);
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
