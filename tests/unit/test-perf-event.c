/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread's perf event: the contents of its page of samples, its periods, and that it needs no
 * descriptor. */
#include "clock.h"
#include "harness.h"

#include <dirent.h>
#include <linux/perf_event.h>

#include "sample/sample.h"
#include "base/base.h"
#include "base/sys.h"

#define PERIOD UINT64_C(1000000)

#define PAGE_MAX 65536
static _Alignas(PAGE_MAX) uint64_t pages[2 * PAGE_MAX / sizeof(uint64_t)];
static struct cp_perf perf = { .pages = pages, .period = PERIOD };
static uint64_t head; /* words written */

static struct perf_event_mmap_page *control(void)
{
	return (struct perf_event_mmap_page *)pages;
}

static void put(uint64_t word)
{
	size_t words = cp_pages_kernel() / sizeof(word);

	pages[words + head++ % words] = word;
}

static void put_header(unsigned type, unsigned words)
{
	struct perf_event_header h = { .type = type, .size = (uint16_t)(8 * words) };
	uint64_t word;

	memcpy(&word, &h, sizeof(word));
	put(word);
}

static void put_sample(const uint64_t *pcs, unsigned n)
{
	put_header(PERF_RECORD_SAMPLE, 2 + n);
	put(n);
	for (unsigned i = 0; i < n; i++)
		put(pcs[i]);
	control()->data_head = 8 * head;
}

static unsigned next(struct cp_kernel_frames *f)
{
	uint64_t tail;
	unsigned hits = cp_perf_event_next(&perf, f, &tail);

	if (hits)
		cp_perf_event_release(&perf, tail);
	return hits;
}

TEST(test_kernel_frames_are_read_around_the_end)
{
	const uint64_t in_kernel[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000001,
				       0xffffffff81000002, 0xffffffff81000003 };
	struct cp_kernel_frames f;

	for (int i = 0; i < 1000; i++) {
		put_sample(in_kernel, 4);
		CHECK_EQ(next(&f), 1);
		CHECK_EQ(f.count, 3);
		for (unsigned j = 0; j < f.count; j++)
			CHECK_EQ(f.words[(f.at + j) & f.mask], in_kernel[1 + j]);
		CHECK_EQ(next(&f), 0);
	}
}

TEST(test_a_hit_in_the_program_has_none)
{
	const uint64_t user[] = { (uint64_t)PERF_CONTEXT_USER, 0x401000 };
	struct cp_kernel_frames f;

	put_sample(NULL, 0);
	put_sample(user, 2);
	CHECK_EQ(next(&f), 1);
	CHECK_EQ(f.count, 0);
	CHECK_EQ(next(&f), 1);
	CHECK_EQ(f.count, 0);
	CHECK_EQ(next(&f), 0);
}

TEST(test_hits_that_had_no_room_are_counted)
{
	struct cp_kernel_frames f;

	put_header(PERF_RECORD_LOST, 3);
	put(1);
	put(7);
	put_sample(NULL, 0);
	CHECK_EQ(next(&f), 7);
	CHECK_EQ(f.count, 0);
	CHECK_EQ(next(&f), 1);
}

TEST(test_other_records_are_passed_over)
{
	struct cp_kernel_frames f;

	put_header(PERF_RECORD_THROTTLE, 4);
	for (int i = 0; i < 3; i++)
		put(0);
	put_sample(NULL, 0);
	CHECK_EQ(next(&f), 1);
	CHECK_EQ(next(&f), 0);
}

TEST(test_periods_sum_up_to_what_was_hit)
{
	struct cp_perf p = { .period = PERIOD + PERIOD / 9 };
	uint64_t given = 0;

	for (int i = 0; i < 900; i++) {
		uint64_t weight = cp_perf_event_credit(&p, 1, PERIOD);

		CHECK(weight == 1 || weight == 2);
		given += weight;
	}
	CHECK(given >= 999 && given <= 1000);
}

TEST(test_periods_are_a_quarter_longer_and_shorter)
{
	/* Far away: none of them hits. */
	const uint64_t base = UINT64_C(1000000000), events = 200;
	uint64_t least = base, most = base, sum = 0;
	struct cp_perf p = { .random = 1 };

	for (uint64_t i = 0; i < events; i++) {
		if (cp_perf_event_open(&p, cp_sys_gettid(), base, base))
			SKIP("no perf events here");
		cp_perf_event_close(&p);
		CHECK(p.period >= base * 3 / 4 && p.period < base * 5 / 4);
		least = p.period < least ? p.period : least;
		most = p.period > most ? p.period : most;
		sum += p.period;
	}
	CHECK(least < base * 4 / 5);
	CHECK(most > base * 6 / 5);
	/* Seven standard deviations of the mean of so many. */
	CHECK(sum / events > base * 93 / 100 && sum / events < base * 107 / 100);
}

TEST(test_the_second_event_keeps_the_firsts_period)
{
	/* Far away: none of them hits. */
	const uint64_t base = UINT64_C(1000000000);
	struct cp_perf p = { .random = 1 };

	for (int i = 0; i < 10; i++) {
		uint64_t period;

		if (cp_perf_event_open(&p, cp_sys_gettid(), base, base))
			SKIP("no perf events here");
		period = p.period;
		CHECK_EQ(cp_perf_event_renew(&p, cp_sys_gettid(), base), 0);
		CHECK_EQ(p.period, period);
		CHECK_EQ(cp_perf_event_renew(&p, cp_sys_gettid(), base), 0);
		CHECK(p.period != period);
		cp_perf_event_close(&p);
	}
}

static volatile sig_atomic_t signals;
static volatile int last_fd;

static void on_prof(int sig, siginfo_t *si, void *context)
{
	signals = signals + 1;
	last_fd = si->si_fd;
}

static int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void burn(void)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)
		;
}

TEST(test_an_event_lives_without_a_descriptor)
{
	struct sigaction act = { .sa_sigaction = on_prof, .sa_flags = SA_SIGINFO };
	int before = count_descriptors(), err, hits = 0;
	struct cp_perf p = { .random = 1 };
	struct cp_kernel_frames f;
	uint64_t tail;

	sigaction(SIGPROF, &act, NULL);
	err = cp_perf_event_open(&p, cp_sys_gettid(), 100000, PERIOD);
	if (err)
		SKIP("no perf events here");
	CHECK_EQ(count_descriptors(), before);
	burn();
	/* The first hits once. */
	CHECK_EQ(signals, 1);
	CHECK_EQ(last_fd, p.fd);
	CHECK_EQ(cp_perf_event_next(&p, &f, &tail), 1);
	CHECK_EQ(cp_perf_event_renew(&p, cp_sys_gettid(), PERIOD), 0);
	CHECK_EQ(count_descriptors(), before);
	burn();
	CHECK(signals > 1);
	while (cp_perf_event_next(&p, &f, &tail)) {
		hits++;
		cp_perf_event_release(&p, tail);
	}
	CHECK(hits > 1);
	cp_perf_event_close(&p);
	CHECK(!p.pages);
	signals = 0;
	burn();
	CHECK_EQ(signals, 0);
}

/* By the calling thread's CPU clock, ns. */
static void burn_until(uint64_t clock)
{
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < clock && !signals)
		;
}

TEST(test_no_time_is_lost_between_the_first_event_and_the_next)
{
	/* The gap must be within half a period. */
	const uint64_t base = UINT64_C(300000000), first = base / 100;
	struct sigaction act = { .sa_sigaction = on_prof, .sa_flags = SA_SIGINFO };
	struct cp_perf p = { .random = 1 };
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), made, asked, credit, period, gap;

	sigaction(SIGPROF, &act, NULL);
	if (cp_perf_event_open(&p, cp_sys_gettid(), first, base))
		SKIP("no perf events here");
	made = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	burn();
	credit = p.credit;
	period = p.period;
	asked = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	CHECK_EQ(cp_perf_event_renew(&p, cp_sys_gettid(), base), 0);
	/* The first hit's time is up to a quarter sooner or later than was asked for. */
	gap = p.credit - credit;
	CHECK(gap >= asked - made - first - first / 4);
	CHECK(gap <= clock_ns(CLOCK_THREAD_CPUTIME_ID) - before - first + first / 4);
	CHECK_EQ(p.period + gap, period);
	/* And then comes the hit: other work on the machine can only make it sooner by this clock.
	 */
	signals = 0;
	asked = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	burn_until(asked + period);
	CHECK_EQ(signals, 1);
	CHECK(clock_ns(CLOCK_THREAD_CPUTIME_ID) < asked + period - gap / 2);
	credit = p.credit;
	CHECK_EQ(cp_perf_event_renew(&p, cp_sys_gettid(), base), 0);
	CHECK_EQ(p.credit, credit);
	cp_perf_event_close(&p);
}

TEST(test_a_first_hit_that_is_due_at_once_comes)
{
	struct sigaction act = { .sa_sigaction = on_prof, .sa_flags = SA_SIGINFO };
	bool shorter = false;

	sigaction(SIGPROF, &act, NULL);
	/* Until its period is one that is shorter than what was asked for. */
	for (uint64_t seed = 1; !shorter; seed++) {
		struct cp_perf p = { .random = seed };

		signals = 0;
		if (cp_perf_event_open(&p, cp_sys_gettid(), 1, PERIOD))
			SKIP("no perf events here");
		burn();
		CHECK_EQ(signals, 1);
		shorter = p.period < PERIOD;
		cp_perf_event_close(&p);
	}
}

static int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4200];
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "[perf_event]") != NULL;
	if (maps)
		fclose(maps);
	return n;
}

TEST(test_the_first_events_pages_are_kept_until_the_second_hit)
{
	struct sigaction act = { .sa_sigaction = on_prof, .sa_flags = SA_SIGINFO };

	sigaction(SIGPROF, &act, NULL);
	/* With a second hit, and without. */
	for (int hits = 2; hits > 0; hits--) {
		struct cp_perf p = { .random = 1 };
		void *first;

		if (cp_perf_event_open(&p, cp_sys_gettid(), 100000, PERIOD))
			SKIP("no perf events here");
		first = p.pages;
		burn();
		CHECK_EQ(cp_perf_event_renew(&p, cp_sys_gettid(), PERIOD), 0);
		CHECK(p.past == first);
		CHECK(count_mappings() > 0);
		signals = 0;
		burn();
		/* All of them the new one's. */
		CHECK(signals > 1);
		CHECK_EQ(last_fd, p.fd);
		if (hits > 1) {
			cp_perf_event_forget(&p);
			CHECK(!p.past);
			CHECK_EQ(cp_perf_event_renew(&p, cp_sys_gettid(), PERIOD), 0);
			/* This one was still running. */
			CHECK(!p.past);
		}
		cp_perf_event_close(&p);
		CHECK(!p.past);
		CHECK_EQ(count_mappings(), 0);
	}
}

/* Where a huge page ends, which is where large mappings are taken in parts. */
TEST(test_an_event_ends_wherever_its_pages_are)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.sample_period = PERIOD,
					.disabled = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	char *room = mmap(NULL, 2 * CP_UNMAP_PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cp_perf p = { .random = 1 };
	uintptr_t end;

	if (fd < 0)
		SKIP("no perf events here");
	end = ((uintptr_t)room + CP_UNMAP_PIECE) & ~(CP_UNMAP_PIECE - 1);
	end = end - cp_pages_kernel() < (uintptr_t)room ? end + CP_UNMAP_PIECE : end;
	p.pages = mmap((void *)(end - cp_pages_kernel()), 2 * cp_pages_kernel(),
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	CHECK(p.pages != MAP_FAILED);
	CHECK_EQ(count_mappings(), 1);
	cp_perf_event_close(&p);
	CHECK_EQ(count_mappings(), 0);
	munmap(room, 2 * CP_UNMAP_PIECE);
}

static const struct cp_perf_what faults = { .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_PAGE_FAULTS };

/* A thread's first hit came after a part of its period, and stands for all of it. */
TEST(test_a_first_hit_counts_for_a_period)
{
	struct cp_perf p = { .what = &faults, .period = 100, .first = 30, .once = true };

	CHECK_EQ(cp_perf_event_weight(&p, 1), 100);
	CHECK_EQ(cp_perf_event_weight(&p, 2), 60);
	p.once = false;
	CHECK_EQ(cp_perf_event_weight(&p, 3), 300);
	p = (struct cp_perf){ .what = &faults, .period = 100, .first = 30, .once = true };
	/* Several that had no room. */
	CHECK_EQ(cp_perf_event_weight(&p, 3), 160);
}

static bool is_prime(uint64_t n)
{
	for (uint64_t d = 2; d < n; d++)
		if (n % d == 0)
			return false;
	return true;
}

/* Work in turns of ten or a hundred faults isn't in step with a number that has no divisor. */
TEST(test_periods_of_few_events_are_prime)
{
	for (int i = 0; i < 50; i++) {
		struct cp_perf p = { .what = &faults, .random = (uint64_t)i };

		if (cp_perf_event_open(&p, cp_sys_gettid(), 100, 100))
			SKIP("no perf events here");
		CHECK(p.period >= 75 && p.period <= 127);
		CHECK(is_prime(p.period));
		CHECK(p.first >= 1 && p.first <= p.period);
		cp_perf_event_close(&p);
	}
}
