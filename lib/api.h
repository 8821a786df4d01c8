/* What the compatible functions (gperftools.c) and a fork (fork.c) need of those of cprof.h. */
#ifndef CP_API_H
#define CP_API_H

#include <stdbool.h>

#include "sigsafe/mode.h"

/* Start one mode, with everything but its path from the environment. As cprof_start. */
int cp_api_start_mode(enum cp_mode mode, const char *path);
/* After a fork, in the child. true: the session is half started or half stopped, by a thread that
 * is not here. */
bool cp_api_fork_child(void);

#endif
