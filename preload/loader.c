/* dlclose: samples in the module get its identity before it goes, and no capture reads its
 * unwind data while it goes. dlopen is left alone: wrapped, it would search with our library
 * as the caller (RUNPATH, $ORIGIN).
 */
#include <dlfcn.h>

#include "closing.h"
#include "heap.h"
#include "interpose.h"
#include "real.h"
#include "session.h"

INTERPOSE int dlclose(void *handle)
{
	struct cp_unloaded *unloaded;
	unsigned before;
	int result;

	if (!cp_session_is_ours())
		return CP_REAL(dlclose)(handle);
	cp_session_drain_unloading();
	before = cp_closing_begin(__builtin_frame_address(0));
	unloaded = cp_heap_before_unload();
	result = CP_REAL(dlclose)(handle);
	cp_closing_end(before, unloaded);
	/* What its destructors did, before another module can be where it was. */
	cp_session_drain_rest();
	return result;
}
