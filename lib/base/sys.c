/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* Chooses where the profiler's memory lies in the address space: far from all mappings that the
 * kernel places.
 *
 * A program may keep track of the pages that it has unmapped. It may unmap them again, read them
 * to get a fault, map or attach memory there, or let a stack grow over them. The kernel places the
 * next mapping without an address into exactly such a hole. So the profiler's mappings have an
 * address.
 *
 * The place is below two thirds of the address space. The kernel puts a position-independent
 * program at two thirds, with its heap above it. Other mappings begin near the end of the space
 * and go down, or, where stacks have no limit, begin at a third (aarch64: a quarter) and go up. So
 * there are terabytes free on both sides. On x86_64, sanitizers also expect a program's memory
 * there:
 *
 * | sanitizer | a program's memory is there (0x... 0000 0000)                         |
 * |-----------|-----------------------------------------------------------------------|
 * | address   | from 1001, except its heap: 5000 to 5400, 6000 to 6400                |
 * | thread    | below 0080 (newer: 0200), 5500 to 5680 (5a00), above 7e80 (7a00)      |
 * | memory    | below 0100, 5100 to 6000, above 7400                                  |
 * | here      | 5515 to 5555                                                          |
 *
 * Only a little is reserved (base.h), because a reservation counts for RLIMIT_AS.
 * MAP_FIXED_NOREPLACE fails if the place is already mapped; kernels before 4.17 treat it as a
 * hint. The loader chooses the place of the libraries that it maps for the profiler (zlib,
 * libunwind), but they are loaded at
 * the start.
 */
/* clang-format on */
#include "base/sys.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/base.h"
#include "base/start_data.h"

#define HUGE_PAGE ((uintptr_t)2 << 20)
/* If a place is taken, the next try skips twice the distance of the previous try. */
#define SKIP_MIN ((uintptr_t)64 << 10)
#define TRIES 24

/* Address of the next mapping; 0: no mapping yet. A fork child continues from there. */
static uintptr_t next CP_START_DATA;

struct part {
	uintptr_t begin, size;
};

static struct part own_part(void)
{
	uintptr_t space = cp_arch_user_space(&next);
	uintptr_t size = space >> 9;

	return (struct part){ (space / 3 * 2 - size) & -HUGE_PAGE, size };
}

/* Returns an address in the part's first half, as random as the library's own address. */
static uintptr_t first(const struct part *p)
{
	return p->begin + ((uintptr_t)&next & -CP_ARCH_PAGE_MAX) % (p->size / 2);
}

/* Returns an address for SIZE bytes, at least SKIP after the last mapping. Restarts at the part's
 * begin after its end, because most mappings there have been unmapped by then. */
static uintptr_t choose_address(const struct part *p, uintptr_t size, uintptr_t align,
				uintptr_t skip)
{
	uintptr_t was = cp_load_relaxed(&next), at, end;

	do {
		at = ((was ? was + skip : first(p)) + align - 1) & -align;
		if (at - p->begin > p->size - size)
			at = p->begin;
		end = (at + size + CP_ARCH_PAGE_MAX - 1) & -CP_ARCH_PAGE_MAX;
	} while (!cp_cas_acqrel(&next, &was, end));
	return at;
}

static long map_kept(size_t size, int access, int flags, int fd)
{
	const struct part p = own_part();
	uintptr_t align = size < HUGE_PAGE || !access ? CP_ARCH_PAGE_MAX : HUGE_PAGE;
	long r = -EEXIST;

	for (int i = 0; r == -EEXIST && i < TRIES && size <= p.size / 2; i++)
		r = cp_syscall6(SYS_mmap,
				(long)choose_address(&p, size, align, i ? SKIP_MIN << i : 0),
				(long)size, access, flags | MAP_FIXED_NOREPLACE, fd, 0);
	/* The kernel chooses the address if there is no room, as under valgrind. */
	if (r == -EEXIST)
		r = cp_syscall6(SYS_mmap, 0, (long)size, access, flags, fd, 0);
	return r;
}

#define FAILED(r) ((r) < 0 && (r) > -4096)
#define ACCESS (PROT_READ | PROT_WRITE)
#define PAGES (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define KEPT ((size_t)1 << 20) /* from this size on, pages are given back also at the end */
/* All of a mapping up to this size is used; to have it at once costs less than page faults. */
#define AT_ONCE ((size_t)2 * CP_PAGES_SIZE)

void *cp_sys_map(size_t size)
{
	long r = map_kept(size, ACCESS, PAGES | (size <= AT_ONCE ? MAP_POPULATE : 0), -1);

	return FAILED(r) ? cp_reserve_take(size) : (void *)r;
}

void *cp_sys_map_shared(size_t size)
{
	long r = map_kept(size, ACCESS, MAP_SHARED | MAP_ANONYMOUS, -1);

	return FAILED(r) ? NULL : (void *)r;
}

void *cp_sys_map_none(size_t size)
{
	long r = map_kept(size, PROT_NONE, PAGES, -1);

	return FAILED(r) ? NULL : (void *)r;
}

long cp_sys_map_fd(int fd, size_t size)
{
	return map_kept(size, ACCESS, MAP_SHARED, fd);
}

/* The process ends: its pages are given back all at once. */
static bool keeps CP_START_DATA;

void cp_sys_keep_pages(void)
{
	cp_store_relaxed(&keeps, true);
}

void cp_sys_unmap(void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p, end = at + size, to;

	if (!p || cp_reserve_give(p, size) || (size < KEPT && cp_load_relaxed(&keeps)))
		return;
	for (; at < end; at = to) {
		to = (at | (CP_UNMAP_PIECE - 1)) + 1;
		to = to < end ? to : end;
		cp_sys2(SYS_munmap, at, to - at);
	}
}

bool cp_sys_is_own_part(uintptr_t address)
{
	const struct part p = own_part();

	return address - p.begin < p.size;
}
