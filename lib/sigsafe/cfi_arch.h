/* Picks the one per-architecture file of the unwinders: registers and their
 * DWARF columns, what a call instruction and a signal frame look like.
 */
#ifndef CP_CFI_ARCH_H
#define CP_CFI_ARCH_H

#include "sigsafe/arch.h"

#if defined(__x86_64__)
#include "sigsafe/cfi_arch_x86_64.h"
#elif defined(__aarch64__)
#include "sigsafe/cfi_arch_aarch64.h"
#endif

#endif
