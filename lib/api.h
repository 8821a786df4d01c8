/* What the compatible functions (gperftools.c) share with those of cprof.h. */
#ifndef CP_API_H
#define CP_API_H

#include "sigsafe/mode.h"

/* Start one mode, with everything but its path from the environment. As cprof_start. */
int cp_api_start_mode(enum cp_mode mode, const char *path);

#endif
