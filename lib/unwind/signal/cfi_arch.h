/* SPDX-License-Identifier: BSD-3-Clause */
/* Includes the architecture's file of the unwinders: registers and their DWARF columns, and the
 * form of call instructions and signal frames. */
#ifndef CP_CFI_ARCH_H
#define CP_CFI_ARCH_H

#include "base/arch.h"

#if defined(__x86_64__)
#include "unwind/signal/cfi_arch_x86_64.h"
#elif defined(__aarch64__)
#include "unwind/signal/cfi_arch_aarch64.h"
#endif

#endif
