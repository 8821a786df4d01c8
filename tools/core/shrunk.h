/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules and debug files are mapped while they are read, because of a large one only a little is
 * needed. If somebody cuts such a file short meanwhile (a build that writes over it), the kernel
 * sends SIGBUS for the pages that are gone.
 */
#ifndef CT_SHRUNK_H
#define CT_SHRUNK_H

#include <stdbool.h>

/* From now on such pages read as zeros. Call at the start. */
void ct_shrunk_catch(void);
/* Returns whether there were any: what was read may be wrong. */
bool ct_shrunk_seen(void);

#endif
