/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits in a plugin, which is gone when the profile is written, and its place perhaps another's.
 * The threads that waited live on: no end of theirs has the profiler look before it goes.
 *
 *   lock-plugin-host PLUGIN
 */
#include "host.h"

static pthread_barrier_t done, gone;

static void *hold(void *function)
{
	void (*in_plugin)(void) = NULL;

	*(void **)&in_plugin = function;
	in_plugin();
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&gone);
	return NULL;
}

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*wait)(void) = NULL;
	pthread_t t;

	EXPECT(plugin != NULL);
	if (!plugin)
		return 1;
	*(void **)&wait = dlsym(plugin, "wait_in_plugin");
	EXPECT(wait != NULL);
	pthread_barrier_init(&done, NULL, 2);
	pthread_barrier_init(&gone, NULL, 2);
	pthread_create(&t, NULL, hold, dlsym(plugin, "hold_in_plugin"));
	if (wait)
		wait();
	pthread_barrier_wait(&done);
	EXPECT(dlclose(plugin) == 0);
	pthread_barrier_wait(&gone);
	pthread_join(t, NULL);
	HOST_END();
}
