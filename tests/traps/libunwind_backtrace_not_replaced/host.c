/* SPDX-License-Identifier: BSD-3-Clause */
/* Which object answers backtrace()? And does anything of libunwind lie in the global scope? */
#include <execinfo.h>

#include "host.h"

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int main(void)
{
	void *pcs[16], *found = dlsym(RTLD_DEFAULT, "backtrace");
	Dl_info info;

	burn(0.1);
	if (dladdr(found, &info))
		printf("backtrace: %s\n", base(info.dli_fname));
	EXPECT(backtrace(pcs, 16) >= 2);
	printf("unw_step: %s\n", dlsym(RTLD_DEFAULT, "unw_step") ? "visible" : "not visible");
	printf("_Ux86_64_step: %s\n",
	       dlsym(RTLD_DEFAULT, "_Ux86_64_step") ? "visible" : "not visible");
	HOST_END();
}
