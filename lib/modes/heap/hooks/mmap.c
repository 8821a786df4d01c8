/* SPDX-License-Identifier: BSD-3-Clause */
/* mmap, munmap, mremap, mprotect, brk and sbrk are passed on. With CPROF_HEAP_VIEWS=mmap the
 * program's mappings are recorded with the stack that made them (lib/modes/heap/heap.h). Before a
 * call that takes an alternate signal stack away, the functions of host/signal/host_signal.h are
 * called. libc's own mappings don't come through here. */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "host/host.h"
#include "modes/heap/heap.h"
#include "host/real.h"

#define CALLER __builtin_return_address(0)

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static size_t whole_pages(size_t size)
{
	return (size + cp_pages_kernel() - 1) & -cp_pages_kernel();
}

/* Is this call the program's, on a thread that has libc's thread data, and are mappings recorded?
 */
static bool is_wanted(void)
{
	const struct cp_self *self = cp_mappings_wanted() ? cp_thread_libc_self() : NULL;

	return self && !self->heap.guard;
}

static void *mmap_failed(long err)
{
	errno = (int)-err;
	return MAP_FAILED;
}

/* Used before the original functions are known: an allocator's first mapping, while they are looked
 * up. */
static void *map_pages(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	long r;

	if (cp_real.mmap)
		return cp_real.mmap(at, size, prot, flags, fd, offset);
	r = cp_syscall6(SYS_mmap, (long)at, (long)size, prot, flags, fd, offset);
	return r < 0 && r > -4096 ? mmap_failed(r) : (void *)r;
}

static void before_mapping(const void *at, size_t size, bool writable)
{
	if (__builtin_expect(!writable && cp_altstack_may_be_at(at, size), 0) &&
	    !cp_profiled_retired())
		cp_signals_alternate_goes(at, size);
}

static void after(const void *at, size_t size, bool writable)
{
	if (__builtin_expect(writable && cp_altstack_may_be_at(at, size), 0) &&
	    !cp_profiled_retired())
		cp_altstack_revalidate(at, size);
}

static void *map_told(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p;

	if (!(flags & MAP_FIXED))
		return map_pages(at, size, prot, flags, fd, offset);
	before_mapping(at, size, prot & PROT_WRITE);
	p = map_pages(at, size, prot, flags, fd, offset);
	if (p != MAP_FAILED)
		after(at, size, prot & PROT_WRITE);
	return p;
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
	void *p = map_told(at, size, prot, flags, fd, offset);

	return is_wanted() ? note(p, size, CALLER) : p;
}

INTERPOSE void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
	void *p = map_told(at, size, prot, flags, fd, offset);

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

	before_mapping(p, size, false);
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

	/* Read even if the caller passed no address, as libc's own mremap does. */
	va_start(ap, flags);
	to = va_arg(ap, void *);
	va_end(ap);
	if (size < old_size || (flags & MREMAP_MAYMOVE))
		before_mapping(old, old_size, false);
	p = CP_REAL(mremap)(old, old_size, size, flags, to);
	if (!wanted || p == MAP_FAILED)
		return p;
	/* Size 0 creates a second view of a shared mapping; the first view stays. */
	if (old_size && !(flags & MREMAP_DONTUNMAP))
		cp_mappings_remove((uintptr_t)old, whole_pages(old_size), now);
	return note(p, size, CALLER);
}

static int protect(void *p, size_t size, int prot)
{
	long r;

	if (cp_real.mprotect)
		return cp_real.mprotect(p, size, prot);
	r = cp_sys3(SYS_mprotect, p, size, prot);
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : 0;
}

INTERPOSE int mprotect(void *p, size_t size, int prot)
{
	int r;

	before_mapping(p, size, prot & PROT_WRITE);
	r = protect(p, size, prot);
	if (!r)
		after(p, size, prot & PROT_WRITE);
	return r;
}

/* Record that the heap's end moved from OLD to NEW. */
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
