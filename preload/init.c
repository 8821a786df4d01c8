/* The library comes and goes: constructor, destructor, quick_exit. */
#include <stdlib.h>

#include "allocator.h"
#include "real.h"
#include "process.h"

static void on_quick_exit(void)
{
	cp_process_end("at quick_exit");
}

__attribute__((constructor)) static void begin(void)
{
	cp_real_resolve();
	cp_allocator_resolve();
	cp_process_begin();
	/* Also where nothing is on yet: the program may call cprof_start. */
	at_quick_exit(on_quick_exit);
}

__attribute__((destructor)) static void end(void)
{
	cp_process_end("at exit");
}
