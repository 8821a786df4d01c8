/* SPDX-License-Identifier: BSD-3-Clause */
/* Includes the header of the target architecture. That header defines the system call entry, the
 * registers of an interrupted context, and the call of a function on another stack. */
#ifndef CP_ARCH_H
#define CP_ARCH_H

#if defined(__x86_64__)
#include "base/arch_x86_64.h"
#elif defined(__aarch64__)
#include "base/arch_aarch64.h"
#else
#error "libcprof has no port to this architecture yet: add lib/base/arch_<name>.h"
#endif

#endif
