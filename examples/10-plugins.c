/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that loads a plugin, uses it, and unloads it. Its samples keep their names and module
 * although it is gone when the profile is written.
 *
 *     cc -O2 -g -DPLUGIN -shared -fPIC 10-plugins.c -o blur.so
 *     cc -O2 -g 10-plugins.c -o 10-plugins -ldl
 *     LD_PRELOAD=libcprof.so CPUPROFILE=10-plugins.pb ./10-plugins
 *       -> plugin unloaded
 *     cprof top 10-plugins.pb
 *       -> blur_image
 *     cprof info 10-plugins.pb
 *       -> blur.so
 */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#ifdef PLUGIN

void blur_image(void);

void blur_image(void)
{
	static volatile unsigned long sum;
	clock_t end = clock() + CLOCKS_PER_SEC / 3;

	while (clock() < end)
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
}

#else

int main(void)
{
	void *plugin = dlopen("./blur.so", RTLD_NOW);
	void (*blur)(void);

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&blur = dlsym(plugin, "blur_image");
	blur();
	dlclose(plugin);
	puts("plugin unloaded");
	return 0;
}

#endif
