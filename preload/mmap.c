/* mmap, munmap, mremap, brk and sbrk: passed on; with CPROF_HEAP_MMAP=1 what the program maps is
 * kept with where it did (lib/mappings.h). libc's own mappings don't come through here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose.h"
#include "mappings.h"
#include "real.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"

#define CALLER __builtin_return_address(0)
#define PAGE ((size_t)4096)

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static size_t whole_pages(size_t size)
{
	return (size + PAGE - 1) & ~(PAGE - 1);
}

/* Of the program's, on a thread whose data is libc's. */
static bool is_wanted(void)
{
	const struct cp_self *self = cp_mappings_wanted() ? cp_thread_libc_self() : NULL;

	return self && !self->heap.guard;
}

static void *failed(long err)
{
	errno = (int)-err;
	return MAP_FAILED;
}

/* Before the originals are known: an allocator's first mapping, while they are looked up. */
static void *map(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	long r;

	if (cp_real.mmap)
		return cp_real.mmap(at, size, prot, flags, fd, offset);
	r = cp_syscall6(SYS_mmap, (long)at, (long)size, prot, flags, fd, offset);
	return r < 0 && r > -4096 ? failed(r) : (void *)r;
}

static __attribute__((noinline)) void *note(void *p, size_t size, void *caller)
{
	int saved = errno;

	if (p != MAP_FAILED)
		cp_mappings_add((uintptr_t)p, whole_pages(size), caller);
	errno = saved;
	return p;
}

INTERPOSE void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = map(at, size, prot, flags, fd, offset);

	return is_wanted() ? note(p, size, CALLER) : p;
}

INTERPOSE void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
	void *p = map(at, size, prot, flags, fd, offset);

	return is_wanted() ? note(p, size, CALLER) : p;
}

static int unmap(void *p, size_t size)
{
	long r;

	if (cp_real.munmap)
		return cp_real.munmap(p, size);
	r = cp_sys2(SYS_munmap, p, size);
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : 0;
}

INTERPOSE int munmap(void *p, size_t size)
{
	uint64_t now;
	int r;

	if (!is_wanted())
		return unmap(p, size);
	now = cp_mappings_now();
	r = unmap(p, size);
	if (!r)
		cp_mappings_remove((uintptr_t)p, whole_pages(size), now);
	return r;
}

INTERPOSE void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	bool wanted = is_wanted();
	uint64_t now = wanted ? cp_mappings_now() : 0;
	va_list ap;
	void *to, *p;

	/* Read also where the caller passed none, as libc's own does. */
	va_start(ap, flags);
	to = va_arg(ap, void *);
	va_end(ap);
	p = CP_REAL(mremap)(old, old_size, size, flags, to);
	if (!wanted || p == MAP_FAILED)
		return p;
	/* Of size 0: a second view of a shared mapping, which stays. */
	if (old_size && !(flags & MREMAP_DONTUNMAP))
		cp_mappings_remove((uintptr_t)old, whole_pages(old_size), now);
	return note(p, size, CALLER);
}

/* The heap's end went from OLD to NEW. */
static __attribute__((noinline)) void note_break(uintptr_t old, uintptr_t new, uint64_t now,
						 void *caller)
{
	int saved = errno;

	if (new > old)
		cp_mappings_add(old, new - old, caller);
	else if (new < old)
		cp_mappings_remove(new, old - new, now);
	errno = saved;
}

INTERPOSE int brk(void *to)
{
	bool wanted = is_wanted();
	uint64_t now = wanted ? cp_mappings_now() : 0;
	uintptr_t old = wanted ? (uintptr_t)cp_sys1(SYS_brk, 0) : 0;
	int r = CP_REAL(brk)(to);

	if (wanted && !r)
		note_break(old, (uintptr_t)to, now, CALLER);
	return r;
}

INTERPOSE void *sbrk(intptr_t more)
{
	bool wanted = is_wanted();
	uint64_t now = wanted ? cp_mappings_now() : 0;
	void *old = CP_REAL(sbrk)(more);

	if (wanted && more && old != (void *)-1)
		note_break((uintptr_t)old, (uintptr_t)old + (uintptr_t)more, now, CALLER);
	return old;
}
