/* SPDX-License-Identifier: BSD-3-Clause */
/* Load and unload of the library: constructor, destructor, quick_exit. */
#include <errno.h>
#include <stdlib.h>

#include "modes/heap/allocator.h"
#include "modes/heap/hooks/heap_hooks.h"
#include "modes/io/io.h"
#include "modes/lock/lock.h"
#include "host/real.h"
#include "session/session.h"
#include "base/start_data.h"
#include "modes/heap/signal/heap_signal.h"
#include "collect/collect.h"
#include "unwind/unwind.h"

static void on_quick_exit(void)
{
	cp_process_end("at quick_exit");
}

/* The library's constructor runs first of all (-z initfirst), even before libc's. So this function
 * sets the libc variables that the profiler reads, to the values that libc is about to set. */
static void begin_for_libc(char **argv, char **environment)
{
	const char *slash;

	/* If the library is loaded late, libc is initialized, and the program may have changed the
	 * variables. */
	if (environ || *program_invocation_name)
		return;
	environ = environment;
	if (!argv[0])
		return;
	slash = strrchr(argv[0], '/');
	program_invocation_name = argv[0];
	program_invocation_short_name = slash ? (char *)slash + 1 : argv[0];
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
	int saved = errno;

	begin_for_libc(argv, environment);
	cp_lock_real_resolve();
	cp_io_real_resolve();
	cp_real_resolve();
	cp_allocator_resolve();
	cp_allocator_prepare_loader();
	init_operators();
	cp_census_calls_prepare();
	init_credentials();
	cp_process_begin();
	/* Needed even if no mode is on, because the program may call cprof_start. */
	at_quick_exit(on_quick_exit);
	/* The C standard promises main that errno is 0. */
	errno = saved;
}

/* If other threads still run at exit, the profile is written before the destructors of objects
 * that the program registered with its first thread; otherwise the threads would use destroyed
 * objects while the profiler writes. If no other thread runs, the profile is written later, so
 * that it includes the destructors. */
static uint32_t exit_watched CP_START_DATA, exit_seen CP_START_DATA;

static void on_exit_with_threads(void)
{
	if (cp_threads_alone())
		return;
	cp_process_write_last("at exit");
	cp_store_relaxed(&exit_seen, 1);
}

/* libc allocates if the program has many handlers. */
static void register_exit(void)
{
	cp_thread_own_begin();
	atexit(on_exit_with_threads);
	cp_thread_own_end();
}

void init_watch_exit(void)
{
	if (cp_load_relaxed(&exit_watched) || cp_exchange_acqrel(&exit_watched, 1))
		return;
	cp_library_call_lending(register_exit);
}

__attribute__((destructor)) static void end(void)
{
	if (cp_load_relaxed(&exit_seen))
		cp_process_leave();
	else
		cp_process_end("at exit");
}
