/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of system calls that are newer than the headers of old systems. From 424 on a call has
 * the same number on every architecture. The kernel is asked at run time; one that lacks a call
 * answers -ENOSYS. */
#ifndef CP_SYSNR_H
#define CP_SYSNR_H

#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#endif
