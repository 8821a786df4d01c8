/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps memory for a write when the kernel gives none; see base.h. */
#include "base/base.h"

#include <string.h>
#include <sys/resource.h>

#include "base/atomic.h"
#include "base/start_data.h"
#include "base/sys.h"

/* The write of 100 stacks takes 2 MiB, nearly all of it for zlib. */
#define FIRST ((size_t)8 << 20)
#define MOST ((size_t)64 << 20)
#define FOR_ROW 64 /* bytes reserved for each row */
#define UNIT ((size_t)CP_ARCH_PAGE_MAX)

static struct {
	uintptr_t begin; /* 0: there is no reserve */
	size_t size;
	uint32_t user;	 /* tid of the thread that has the lock; 0: none */
	size_t limit;	 /* how much of the reserve the user may use */
	bool accessible; /* the reserve was needed once */
	bool shared;	 /* pages are shared: after a fork the parent has them, too */
} reserve CP_START_DATA;

/* For each unit of the reserve: 1 if it is in use. */
static uint8_t used[MOST / UNIT];

static size_t allowed(size_t size)
{
	struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };

	cp_sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &l);
	if (l.rlim_cur / 16 < size)
		size = (size_t)l.rlim_cur / 16;
	return size & -UNIT;
}

size_t cp_reserve_size(void)
{
	return allowed(FIRST);
}

void *cp_reserve_keep(void *at, size_t *size)
{
	uintptr_t old = reserve.begin;
	size_t old_size = reserve.size;

	reserve.begin = (uintptr_t)at;
	reserve.size = *size;
	reserve.accessible = reserve.shared = false;
	*size = old_size;
	return (void *)old;
}

size_t cp_reserve_wanted(size_t rows)
{
	size_t need = FIRST + rows * FOR_ROW, size = reserve.size;

	while (size && size < need && size < MOST)
		size *= 2;
	return size == reserve.size || reserve.accessible || allowed(size) < size ? 0 : size;
}

void cp_reserve_open(uint32_t tid)
{
	reserve.limit = reserve.size / 2;
	cp_store_release(&reserve.user, tid);
}

void cp_reserve_use_all(void)
{
	reserve.limit = reserve.size;
}

void cp_reserve_close(void)
{
	cp_store_release(&reserve.user, 0);
}

/* Pages that become writable count for RLIMIT_DATA if they are private. Shared ones don't. */
static bool make_accessible(void)
{
	if (!reserve.accessible)
		reserve.accessible =
			!cp_sys3(SYS_mprotect, reserve.begin, reserve.size, PROT_READ | PROT_WRITE);
	if (reserve.accessible)
		return true;
	reserve.shared = reserve.accessible =
		cp_syscall6(SYS_mmap, (long)reserve.begin, (long)reserve.size,
			    PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			    0) == (long)reserve.begin;
	return reserve.accessible;
}

static bool mine(void)
{
	return reserve.begin && cp_load_relaxed(&reserve.user) == (uint32_t)cp_sys_gettid();
}

/* Returns the first of N free units, or -1. */
static size_t find_units(size_t n)
{
	size_t free = 0, limit = reserve.limit / UNIT;

	for (size_t i = 0; i < limit; i++) {
		free = used[i] ? 0 : free + 1;
		if (free == n)
			return i + 1 - n;
	}
	return (size_t)-1;
}

void *cp_reserve_take(size_t size)
{
	size_t n = (size + UNIT - 1) / UNIT, at;

	if (!size || size > reserve.size || !mine())
		return NULL;
	at = find_units(n);
	if (at == (size_t)-1 || !make_accessible())
		return NULL;
	memset(used + at, 1, n);
	return (void *)(reserve.begin + at * UNIT);
}

bool cp_reserve_give(void *at, size_t size)
{
	uintptr_t from = (uintptr_t)at - reserve.begin;
	size_t n = (size + UNIT - 1) / UNIT;

	if (from >= reserve.size || !reserve.begin)
		return false;
	/* The pages are zero when they are used again. */
	cp_sys3(SYS_madvise, at, n * UNIT, reserve.shared ? MADV_REMOVE : MADV_DONTNEED);
	memset(used + from / UNIT, 0, n);
	return true;
}

size_t cp_reserve_fork_child(void)
{
	size_t size = reserve.shared ? reserve.size : 0;

	reserve.user = 0;
	if (!size)
		return 0;
	reserve.begin = reserve.size = 0;
	memset(used, 0, sizeof(used));
	return size;
}
