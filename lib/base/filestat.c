/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks what a file is; see base.h. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>

#include "base/sys.h"

#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000
#endif

/* Returns 0 or a negative errno. */
static long by_fstatat(int dir, const char *path, int flags, struct cp_filestat *to)
{
	struct stat s;
	long err = cp_sys4(SYS_newfstatat, dir, path, &s, flags);

	if (!err)
		*to = (struct cp_filestat){ s.st_mode, (unsigned)(s.st_rdev >> 8) & 0xfff,
					    s.st_ino };
	return err;
}

static long by_statx(int dir, const char *path, int flags, struct cp_filestat *to)
{
	struct statx x;
	long err = cp_sys5(SYS_statx, dir, path, flags, STATX_TYPE | STATX_INO, &x);

	if (!err)
		*to = (struct cp_filestat){ x.stx_mode, x.stx_rdev_major, x.stx_ino };
	return err;
}

/* Some sandboxes refuse statx. Kernels that have statx know the flag in fstatat, too. */
long cp_filestat_read(int dir, const char *path, int flags, bool may_wait, struct cp_filestat *to)
{
	long err = by_statx(dir, path, flags | AT_STATX_DONT_SYNC, to);

	if (err == -ENOSYS || err == -EPERM)
		err = by_fstatat(dir, path, flags | AT_STATX_DONT_SYNC, to);
	if (err == -EINVAL && may_wait)
		err = by_fstatat(dir, path, flags, to);
	return err;
}
