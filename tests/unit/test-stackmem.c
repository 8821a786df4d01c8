/* SPDX-License-Identifier: BSD-3-Clause */
/* Stack reads: direct, copied, refused. */
#include "harness.h"

#include "base/atomic.h"
#include "sample/ring.h"
#include "base/sys.h"

#define PAGE 65536 /* a multiple of each kernel's */

/* COUNT pages, of which those in the string NONE ("x" at their index) are inaccessible. */
static unsigned char *pages(const char *layout)
{
	size_t n = strlen(layout);
	unsigned char *p =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < n * PAGE; i += 8)
		memcpy(p + i, &i, sizeof(i));
	for (size_t i = 0; i < n; i++)
		if (layout[i] == 'x')
			mprotect(p + i * PAGE, PAGE, PROT_NONE);
	return p;
}

TEST(test_probe_tells_readable_from_not)
{
	unsigned char *p = pages(".x.");

	CHECK(cp_stackmem_probe((uint64_t)p));
	CHECK(cp_stackmem_probe((uint64_t)p + PAGE - 1));
	CHECK(!cp_stackmem_probe((uint64_t)p + PAGE));
	CHECK(cp_stackmem_probe((uint64_t)p + 2 * PAGE));
	CHECK(!cp_stackmem_probe(0));
	CHECK(!cp_stackmem_probe(UINT64_MAX));
	CHECK(!cp_stackmem_probe(UINT64_C(1) << 63));
	CHECK(!cp_stackmem_probe(UINT64_C(0x800000000000)));
	munmap(p, 3 * PAGE);
}

TEST(test_probe_leaves_the_signal_mask)
{
	static uint64_t full[2] = { UINT64_MAX, 0 };
	uint64_t before = 0, after = 0;

	cp_sys_sigmask(SIG_SETMASK, NULL, &before);
	CHECK(cp_stackmem_probe((uint64_t)&full[0]));
	CHECK(cp_stackmem_probe((uint64_t)&full[1]));
	cp_sys_sigmask(SIG_SETMASK, NULL, &after);
	CHECK_EQ(after, before);
}

TEST(test_own_stack_is_read_with_its_red_zone)
{
	unsigned char *p = pages("...");
	uint64_t base = (uint64_t)p, sp = base + PAGE + 512, w = 7;
	struct cp_stackmem m;

	cp_stackmem_init(&m, sp, base, base + 3 * PAGE);
	CHECK_EQ(m.direct_low, sp - CP_STACKMEM_RED_ZONE);
	CHECK_EQ(m.direct_low + m.direct_size, base + 3 * PAGE - 7);
	CHECK(cp_stackmem_read(&m, sp - CP_STACKMEM_RED_ZONE, &w) && w == PAGE + 512 - 128);
	CHECK(cp_stackmem_read(&m, base + 3 * PAGE - 8, &w) && w == 3 * PAGE - 8);
	CHECK_EQ(m.had_size, 0);
	CHECK(!m.here_asked);
	munmap(p, 3 * PAGE);
}

TEST(test_red_zone_stops_at_a_guard_page)
{
	unsigned char *p = pages("x..");
	uint64_t base = (uint64_t)p, sp = base + PAGE + 64, w = 7;
	struct cp_stackmem m;

	/* bounds that wrongly take the guard in */
	cp_stackmem_init(&m, sp, base, base + 3 * PAGE);
	CHECK(!cp_stackmem_read(&m, sp - 128, &w));
	CHECK_EQ(w, 7);
	CHECK(cp_stackmem_read(&m, sp - 64, &w) && w == PAGE);
	munmap(p, 3 * PAGE);
}

TEST(test_reads_over_the_top_are_refused)
{
	unsigned char *p = pages("..x");
	uint64_t base = (uint64_t)p, w = 7;
	struct cp_stackmem m;

	cp_stackmem_init(&m, base + PAGE, base, base + 2 * PAGE);
	for (unsigned off = 1; off < 8; off++)
		CHECK(!cp_stackmem_read(&m, base + 2 * PAGE - off, &w));
	CHECK(!cp_stackmem_read(&m, base + 2 * PAGE, &w));
	CHECK_EQ(w, 7);
	munmap(p, 3 * PAGE);
}

static void read_unknown(struct cp_stackmem *m, uint64_t base)
{
	uint64_t w = 7;

	CHECK(cp_stackmem_read(m, base + 8, &w) && w == 8);
	CHECK(cp_stackmem_read(m, base + PAGE + 16, &w) && w == PAGE + 16);
	for (uint64_t at = 0; at <= 3 * PAGE - 8; at += 8)
		CHECK(cp_stackmem_read(m, base + at, &w) && w == at);
	CHECK(cp_stackmem_read(m, base + 2 * PAGE - 4, &w));
	CHECK_EQ(w, (uint64_t)(2 * PAGE) << 32); /* half of each */
	w = 7;
	CHECK(!cp_stackmem_read(m, base + 3 * PAGE, &w));
	CHECK(!cp_stackmem_read(m, base + 3 * PAGE - 4, &w));
	CHECK(!cp_stackmem_read(m, base + 4 * PAGE - 4, &w));
	CHECK_EQ(w, 7);
	CHECK(cp_stackmem_read(m, base + 4 * PAGE, &w) && w == 4 * PAGE);
	CHECK(cp_stackmem_read(m, base + PAGE, &w) && w == PAGE);
}

TEST(test_unknown_bounds_are_read_as_far_as_there_is_memory)
{
	static struct cp_stackmem_room room;
	unsigned char *p = pages("...x.");
	uint64_t base = (uint64_t)p;
	struct cp_stackmem m;

	for (unsigned how = 0; how < 4; how++) {
		cp_stackmem_init(&m, base + 104, 0, 0);
		m.room = how & 1 ? &room : NULL;
		m.asks = how & 2; /* as where copying is refused */
		CHECK_EQ(m.direct_size, 0);
		CHECK_EQ(m.here, base);
		read_unknown(&m, base);
	}
	munmap(p, 5 * PAGE);
}

/* The page of a stack pointer at its very begin need not be a part of the stack. */
TEST(test_only_a_page_that_is_stood_on_is_read_at_once)
{
	unsigned char *p = pages("..");
	uint64_t base = (uint64_t)p, w = 7;
	struct cp_stackmem m;

	cp_stackmem_init(&m, base + PAGE, 0, 0);
	CHECK_EQ(m.here, 0);
	CHECK(cp_stackmem_read(&m, base + PAGE, &w) && w == PAGE);
	CHECK(!m.here_asked);
	munmap(p, 2 * PAGE);
}

static uint32_t comes_and_goes;

static void *come_and_go(void *page)
{
	while (cp_load_relaxed(&comes_and_goes)) {
		mprotect(page, PAGE, PROT_NONE);
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static int look_at(unsigned char *page, struct cp_stackmem_room *room)
{
	unsigned seen[2] = { 0, 0 };
	struct cp_stackmem m;
	pthread_t other;
	uint64_t w, at = (uint64_t)page + 512;

	cp_store_relaxed(&comes_and_goes, 1);
	if (pthread_create(&other, NULL, come_and_go, page))
		return 2;
	for (int i = 0; i < 10000000 && (i < 100000 || !seen[0] || !seen[1]); i++) {
		cp_stackmem_init(&m, (uint64_t)&w, 0, 0);
		m.room = room;
		w = 512;
		seen[cp_stackmem_read(&m, at, &w)]++;
		if (w != 512)
			return 3;
	}
	cp_store_relaxed(&comes_and_goes, 0);
	pthread_join(other, NULL);
	return seen[0] && seen[1] ? 0 : 1;
}

/* Another thread's, which a register leads to. */
TEST(test_memory_that_goes_while_it_is_read)
{
	static struct cp_stackmem_room room;
	unsigned char *p = pages(".");
	int status = -1;
	pid_t pid;

	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (!pid)
			_exit(look_at(p, i ? &room : NULL));
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	munmap(p, PAGE);
}

TEST(test_garbage_addresses_are_refused)
{
	static const uint64_t wild[] = { 0,
					 1,
					 8,
					 4095,
					 UINT64_MAX,
					 UINT64_MAX - 7,
					 UINT64_MAX - 8,
					 UINT64_C(1) << 63,
					 UINT64_C(1) << 47,
					 UINT64_C(0x7ffffffff000) };
	struct cp_stackmem m;
	uint64_t w = 7;

	for (unsigned i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		cp_stackmem_init(&m, wild[i], 0, 0);
		CHECK(!cp_stackmem_read(&m, wild[i], &w));
	}
	cp_stackmem_init(&m, (uint64_t)&w, 5, 3); /* bounds the wrong way around */
	CHECK_EQ(m.direct_size, 0);
	CHECK_EQ(w, 7);
}
