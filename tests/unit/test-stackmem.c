/* Stack reads: direct, probed, refused. */
#include "harness.h"

#include "sigsafe/stackmem.h"
#include "sigsafe/sys.h"

#define PAGE 4096

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

static void test_probe_tells_readable_from_not(void)
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

static void test_probe_leaves_the_signal_mask(void)
{
	static uint64_t full[2] = { UINT64_MAX, 0 };
	uint64_t before = 0, after = 0;

	cp_sys_sigmask(SIG_SETMASK, NULL, &before);
	CHECK(cp_stackmem_probe((uint64_t)&full[0]));
	CHECK(cp_stackmem_probe((uint64_t)&full[1]));
	cp_sys_sigmask(SIG_SETMASK, NULL, &after);
	CHECK_EQ(after, before);
}

static void test_own_stack_is_read_with_its_red_zone(void)
{
	unsigned char *p = pages("...");
	uint64_t base = (uint64_t)p, sp = base + PAGE + 512, w = 7;
	struct cp_stackmem m;

	cp_stackmem_init(&m, sp, base, base + 3 * PAGE);
	CHECK_EQ(m.direct_low, sp - CP_STACKMEM_RED_ZONE);
	CHECK_EQ(m.direct_low + m.direct_size, base + 3 * PAGE - 7);
	CHECK(cp_stackmem_read(&m, sp - CP_STACKMEM_RED_ZONE, &w) && w == PAGE + 512 - 128);
	CHECK(cp_stackmem_read(&m, base + 3 * PAGE - 8, &w) && w == 3 * PAGE - 8);
	CHECK_EQ(m.probed_high, 0);
	munmap(p, 3 * PAGE);
}

static void test_red_zone_stops_at_a_guard_page(void)
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

static void test_reads_over_the_top_are_refused(void)
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

static void test_unknown_bounds_are_probed_page_by_page(void)
{
	unsigned char *p = pages("...x.");
	uint64_t base = (uint64_t)p, w = 7;
	struct cp_stackmem m;

	cp_stackmem_init(&m, base + 100, 0, 0);
	CHECK_EQ(m.direct_size, 0);
	CHECK(cp_stackmem_read(&m, base + 8, &w) && w == 8);
	CHECK(cp_stackmem_read(&m, base + PAGE + 16, &w) && w == PAGE + 16);
	CHECK(cp_stackmem_read(&m, base + 2 * PAGE - 4, &w));
	CHECK_EQ(m.probed_low, base);
	CHECK_EQ(m.probed_high, base + 3 * PAGE);
	CHECK(!cp_stackmem_read(&m, base + 3 * PAGE, &w));
	CHECK(!cp_stackmem_read(&m, base + 3 * PAGE - 4, &w));
	CHECK(cp_stackmem_read(&m, base + 4 * PAGE, &w) && w == 4 * PAGE);
	munmap(p, 5 * PAGE);
}

static void test_garbage_addresses_are_refused(void)
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

int main(void)
{
	RUN(test_probe_tells_readable_from_not);
	RUN(test_probe_leaves_the_signal_mask);
	RUN(test_own_stack_is_read_with_its_red_zone);
	RUN(test_red_zone_stops_at_a_guard_page);
	RUN(test_reads_over_the_top_are_refused);
	RUN(test_unknown_bounds_are_probed_page_by_page);
	RUN(test_garbage_addresses_are_refused);
	return harness_end();
}
