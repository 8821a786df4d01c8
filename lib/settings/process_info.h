/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the process (program, host, rank) for file names and CPROF_ONLY. Ordinary
 * context. */
#ifndef CP_PROCESS_INFO_H
#define CP_PROCESS_INFO_H

#include "settings/path.h"

struct cp_process_info {
	struct cp_path_facts path;
	char program[256]; /* basename of the executable */
	char host[65];
	char rank[16];
};

/* Fills F for this process now. F->path points into F. */
void cp_process_info_read(struct cp_process_info *f);

#endif
