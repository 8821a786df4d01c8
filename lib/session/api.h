/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of api.c that the gperftools-compatible functions (gperftools.c) need. */
#ifndef CP_API_H
#define CP_API_H

#include "sample/mode.h"

/* Starts MODE for gperftools' functions. Everything except the path comes from the environment.
 * NAME is used literally, not as a template; SUFFIX may be a template. CPUPROFILE_REALTIME turns
 * CPU into wall. Heap dumps get gperftools' intervals if the environment sets no interval. Returns
 * as cprof_start. */
int cp_api_start_mode(enum cprof_mode mode, const char *name, const char *suffix);
#endif
