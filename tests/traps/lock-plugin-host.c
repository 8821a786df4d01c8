/* Waits in a plugin, which is gone when the profile is written, and its place perhaps another's.
 *
 *   lock-plugin-host PLUGIN
 */
#include <dlfcn.h>

#include "host.h"

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*wait)(void) = NULL;

	EXPECT(plugin != NULL);
	if (plugin)
		*(void **)&wait = dlsym(plugin, "wait_in_plugin");
	EXPECT(wait != NULL);
	if (wait)
		wait();
	if (plugin)
		EXPECT(dlclose(plugin) == 0);
	HOST_END();
}
