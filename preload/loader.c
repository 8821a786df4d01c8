/* dlclose: samples in the module get its identity before it goes, and no capture reads its
 * unwind data while it goes. dlopen is left alone: wrapped, it would search with our library
 * as the caller (RUNPATH, $ORIGIN).
 */
#include <dlfcn.h>

#include "heap.h"
#include "interpose.h"
#include "real.h"
#include "session.h"
#include "sigsafe/capture.h"
#include "sigsafe/gate.h"
#include "sigsafe/thread.h"

INTERPOSE int dlclose(void *handle)
{
	struct cp_unloaded *unloaded;
	int result;

	if (!cp_session_is_ours())
		return CP_REAL(dlclose)(handle);
	cp_session_drain();
	cp_gate_close();
	cp_self.in_dlclose++;
	unloaded = cp_heap_before_unload();
	result = CP_REAL(dlclose)(handle);
	if (cp_capture_settings.unwinder->modules_changed)
		cp_capture_settings.unwinder->modules_changed();
	/* The wall clock walks with this one whatever was chosen. */
	if (cp_capture_settings.unwinder != &cp_unwinder_dwarf)
		cp_unwinder_dwarf.modules_changed();
	/* Before the gate opens: what is kept of the old module isn't used for a new one. */
	cp_heap_after_unload(unloaded);
	cp_self.in_dlclose--;
	cp_gate_open();
	/* What its destructors did, before another module can be where it was. */
	cp_session_drain_rest();
	return result;
}
