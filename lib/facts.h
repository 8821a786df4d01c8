/* What the process is called, for file names and CPROF_ONLY. Ordinary context. */
#ifndef CP_FACTS_H
#define CP_FACTS_H

#include "path.h"

struct cp_facts {
	struct cp_path_facts path;
	char program[256]; /* basename of the executable */
	char host[65];
	char rank[16];
};

/* Fill F for this process now; F->path points into F. */
void cp_facts_read(struct cp_facts *f);

#endif
