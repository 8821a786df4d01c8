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

INTERPOSE int dlclose(void *handle)
{
	int result;

	if (!cp_session_is_ours())
		return CP_REAL(dlclose)(handle);
	cp_session_drain();
	cp_gate_close();
	result = CP_REAL(dlclose)(handle);
	/* Captures that began before the module was gone may still fill caches with it. */
	cp_gate_wait();
	if (cp_capture_settings.unwinder->modules_changed)
		cp_capture_settings.unwinder->modules_changed();
	/* The wall clock walks with this one whatever was chosen. */
	if (cp_capture_settings.unwinder != &cp_unwinder_dwarf)
		cp_unwinder_dwarf.modules_changed();
	cp_gate_open();
	cp_heap_modules_changed();
	return result;
}
