/* SPDX-License-Identifier: BSD-3-Clause */
/* dlopen: when it returns, handlers know the unwind data of the modules that it loaded. musl's
 * dlopen, unlike glibc's, does not search on behalf of its caller, so it can be interposed.
 *
 * unwind/cfi_poll.c won't do with musl: in /proc/self/maps there are also modules that the loader
 * is going to unmap because they lack a symbol, and handlers read unwind data of the modules that
 * they know.
 */
#include <dlfcn.h>

#include "host/host.h"
#include "sample/sample.h"
#include "unwind/unwind.h"

static void *(*real)(const char *, int);

INTERPOSE void *dlopen(const char *file, int mode)
{
	void *module;

	if (!real) {
		void *f = cp_loaded_next_one("dlopen");

		memcpy(&real, &f, sizeof(f));
	}
	module = real(file, mode);
	if (module && cp_load_acquire(&cp_capture_settings.unwinder) && !cp_profiled_retired() &&
	    !cp_fork_mark_is_gone())
		cp_cfi_modules_refresh();
	return module;
}
