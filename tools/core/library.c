/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads libraries; see core.h. */
#include "core/core.h"

#include <dlfcn.h>
#include <string.h>

bool ct_library_load(const char *name, const struct ct_library_function *functions, size_t n)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	for (size_t i = 0; i < n; i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f)
			return false;
		memcpy(functions[i].to, &f, sizeof(f));
	}
	return true;
}
