/* SPDX-License-Identifier: BSD-3-Clause */
/* TLS of a task without a libc thread; see task_tls.h. */
#include "collect/task_tls.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/arch.h"
#include "base/sys.h"
#include "sample/thread.h"

#define PAGE ((uintptr_t)4096)
/* Room for libc's thread descriptor, on either side of the thread pointer: the descriptor has 2304
 * bytes in glibc 2.36. */
#define DESCRIPTOR ((uintptr_t)8192)

/* Distance from the thread pointer to the last byte in use, below and above. */
struct extent {
	uintptr_t below, above;
};

static void reach(struct extent *e, const char *tp, const void *variable, size_t size)
{
	const char *begin = variable, *end = begin + size;

	if (begin < tp && (uintptr_t)(tp - begin) > e->below)
		e->below = (uintptr_t)(tp - begin);
	if (end > tp && (uintptr_t)(end - tp) > e->above)
		e->above = (uintptr_t)(end - tp);
}

static char *map(const char *tp)
{
	struct extent e = { DESCRIPTOR, DESCRIPTOR };
	char *memory;

	reach(&e, tp, &cp_self, sizeof(cp_self));
	reach(&e, tp, &errno, sizeof(errno));
	e.below = (e.below + PAGE - 1) & -PAGE;
	memory = cp_sys_map(e.below + e.above);
	return memory ? memory + e.below : NULL;
}

/* libc's table of the modules' TLS, as it is for a thread that has none: dl_iterate_phdr reads it.
 * The entry before the one that the thread pointer leads to is the number of modules in the table;
 * the entry itself is the generation, here one that never is, so libc looks at the number. */
static const uint64_t no_modules[2][2] = { { 0 }, { UINT64_MAX } };

void *cp_task_tls_make(void)
{
	static char *made; /* every thread has the same layout */
	const char *tp = cp_thread_pointer();

	if (!made)
		made = map(tp);
	if (!made)
		return NULL;
	memset(made + ((const char *)&cp_self - tp), 0, sizeof(cp_self));
	cp_thread_pointer_fill(made, tp, &no_modules[1]);
	return made;
}
