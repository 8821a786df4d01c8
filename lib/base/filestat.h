/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file is, asked without waiting for its server where that is possible. Any context; errno
 * stays. */
#ifndef CP_FILESTAT_H
#define CP_FILESTAT_H

#include <stdbool.h>
#include <stdint.h>

struct cp_filestat {
	unsigned mode;	/* has the bits of st_mode */
	unsigned major; /* of a device's number */
	uint64_t inode;
};

/* Ask about PATH, relative to DIR. FLAGS: AT_EMPTY_PATH or 0. Returns 0 or a negative errno; TO is
 * untouched on failure. A file system that is served from elsewhere answers from what it knows,
 * because its server may not answer. Kernels without statx refuse such a question (-EINVAL): with
 * MAY_WAIT the server is asked there. */
long cp_filestat_read(int dir, const char *path, int flags, bool may_wait, struct cp_filestat *to);

#endif
