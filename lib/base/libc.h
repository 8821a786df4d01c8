/* SPDX-License-Identifier: BSD-3-Clause */
/* Includes the header of the libc that the library is built for. That header defines what the
 * profiler knows of that libc and can't ask it: names, the layout of locks, missing functions. */
#ifndef CP_LIBC_H
#define CP_LIBC_H

#include <features.h>

#include "base/own_code.h"

#ifdef __GLIBC__
#include "base/libc_glibc.h"
#else
#include "base/libc_musl.h"
#endif

/* Has the program's file, even where the program is run by the loader (ld.so PROGRAM): then the
 * kernel has no other loader, and /proc/self/exe is the loader. A static program has none, either.
 */
static inline const char *cp_libc_program_file(void)
{
	bool is_file = getauxval(AT_BASE) || CP_OWN_CODE_IS_STATIC;
	unsigned long path = is_file ? 0 : cp_libc_auxval(AT_EXECFN);

	return path ? (const char *)path : "/proc/self/exe"; /* NOLINT: the value is an address */
}

#endif
