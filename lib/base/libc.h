/* SPDX-License-Identifier: BSD-3-Clause */
/* Includes the header of the libc that the library is built for. That header defines what the
 * profiler knows of that libc and can't ask it: names, the layout of locks, missing functions. */
#ifndef CP_LIBC_H
#define CP_LIBC_H

#include <features.h>

#ifdef __GLIBC__
#include "base/libc_glibc.h"
#else
#include "base/libc_musl.h"
#endif

#endif
