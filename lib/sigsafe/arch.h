/* Picks the one per-architecture file: system call entry, the registers of an
 * interrupted context, and running a function on another stack.
 */
#ifndef CP_ARCH_H
#define CP_ARCH_H

#if defined(__x86_64__)
#include "sigsafe/arch_x86_64.h"
#elif defined(__aarch64__)
#include "sigsafe/arch_aarch64.h"
#else
#error "libcprof has no port to this architecture yet: add lib/sigsafe/arch_<name>.h"
#endif

#endif
