/* The library comes and goes: constructor, destructor, quick_exit. */
#include <stdlib.h>

#include "allocator.h"
#include "interpose.h"
#include "real.h"
#include "process.h"
#include "sigsafe/atomic.h"
#include "sigsafe/heap_event.h"
#include "threads.h"

static void on_quick_exit(void)
{
	cp_process_end("at quick_exit");
}

__attribute__((constructor)) static void begin(void)
{
	cp_real_resolve();
	cp_allocator_resolve();
	init_credentials();
	cp_process_begin();
	/* Also where nothing is on yet: the program may call cprof_start. */
	at_quick_exit(on_quick_exit);
}

/* Before the destructors of what the program has made by its first thread, if others still run:
 * while we write they would use it destroyed. If none does, what the destructors do is to be in the
 * profile. */
static uint32_t exit_watched, exit_seen;

static void on_exit_with_threads(void)
{
	if (cp_threads_alone())
		return;
	cp_process_write_last("at exit");
	cp_store_relaxed(&exit_seen, 1);
}

void init_watch_exit(void)
{
	if (cp_load_relaxed(&exit_watched) || cp_exchange_acqrel(&exit_watched, 1))
		return;
	/* libc may allocate for that. */
	cp_heap_own_begin();
	atexit(on_exit_with_threads);
	cp_heap_own_end();
}

__attribute__((destructor)) static void end(void)
{
	if (cp_load_relaxed(&exit_seen))
		cp_process_leave();
	else
		cp_process_end("at exit");
}
