/* SPDX-License-Identifier: BSD-3-Clause */
/* libc's own profiler: profil, sprofil, and the functions that programs built by gcc -pg call. They
 * set SIGPROF's handler and ITIMER_PROF by calls inside libc, which no hook sees. So afterwards the
 * profiler looks which handler the kernel has. libc's then gets its signals as any handler of the
 * program does, and both profiles are right.
 */
#include <sys/gmon.h>
#include <sys/profil.h>
#include <unistd.h>

#include "host/host.h"
#include "unwind/unwind.h"

/* Set F, of the type of NAME, to libc's function NAME. */
#define LIBC(f, name)                                                                              \
	__typeof__(&name) f;                                                                       \
	void *found_##f = cp_loaded_in_libc(#name);                                                \
	memcpy(&(f), &found_##f, sizeof(f))

INTERPOSE int profil(unsigned short *buffer, size_t size, size_t offset, unsigned scale)
{
	int result = -1;

	LIBC(real, profil);
	if (real)
		result = real(buffer, size, offset, scale);
	cp_signals_look_at_prof();
	return result;
}

INTERPOSE int sprofil(struct prof *parts, int count, struct timeval *every, unsigned flags)
{
	int result = -1;

	LIBC(real, sprofil);
	if (real)
		result = real(parts, count, every, flags);
	cp_signals_look_at_prof();
	return result;
}

INTERPOSE void __monstartup(unsigned long low, unsigned long high)
{
	LIBC(real, __monstartup);
	if (real)
		real(low, high);
	cp_signals_look_at_prof();
}

INTERPOSE void monstartup(unsigned long low, unsigned long high)
{
	__monstartup(low, high);
}

INTERPOSE void moncontrol(int on);
INTERPOSE void moncontrol(int on)
{
	LIBC(real, moncontrol);
	if (real)
		real(on);
	cp_signals_look_at_prof();
}

/* Writes gmon.out at the end. */
INTERPOSE void _mcleanup(void)
{
	LIBC(real, _mcleanup);
	if (real)
		real();
	cp_signals_look_at_prof();
}
