/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of latencies, and spans by name. */
#include "harness.h"

#include "cprof.h"
#include "labels/signal/labels_signal.h"
#include "labels/spans.h"

static struct cp_histogram h;

static bool near(uint64_t got, uint64_t exact)
{
	uint64_t off = got > exact ? got - exact : exact - got;

	return off * 100 <= exact;
}

TEST(test_quantiles_are_within_a_per_cent)
{
	static uint64_t values[100000];
	uint64_t x = 1;

	memset(&h, 0, sizeof(h));
	CHECK_EQ(cp_histogram_quantile(&h, 500), 0);
	/* Sorted: each a little longer than the one before, over six powers of ten. */
	for (size_t i = 0; i < 100000; i++) {
		values[i] = x;
		cp_histogram_add(&h, x);
		x += 1 + x / 7000;
	}
	CHECK_EQ(h.count, 100000);
	CHECK(near(cp_histogram_up_to(&h, values[50000 - 1]), 50000));
	CHECK_EQ(cp_histogram_up_to(&h, values[99999]), 100000);
	CHECK_EQ(cp_histogram_up_to(&h, UINT64_MAX), 100000);
	CHECK_EQ(cp_histogram_up_to(&h, 0), 0);
	CHECK_EQ(h.max, values[99999]);
	CHECK(near(cp_histogram_quantile(&h, 500), values[50000 - 1]));
	CHECK(near(cp_histogram_quantile(&h, 900), values[90000 - 1]));
	CHECK(near(cp_histogram_quantile(&h, 990), values[99000 - 1]));
	CHECK(near(cp_histogram_quantile(&h, 999), values[99900 - 1]));
	CHECK(cp_histogram_quantile(&h, 1000) <= h.max);
}

TEST(test_every_value_is_near_its_bucket)
{
	for (uint64_t v = 1; v < UINT64_C(1) << 42; v += 1 + v / 3) {
		memset(&h, 0, sizeof(h));
		cp_histogram_add(&h, v);
		cp_histogram_add(&h, UINT64_MAX);
		CHECK(v < 128 ? cp_histogram_quantile(&h, 500) == v
			      : near(cp_histogram_quantile(&h, 500), v));
	}
}

TEST(test_spans_have_statistics_and_a_label)
{
	struct cprof_span_stats s = { .size = sizeof(s) };
	struct cprof_span outer, inner;
	char value[64];

	CHECK_EQ(cprof_get_span_stats("none", &s), -ENOENT);
	outer = cprof_span_begin("outer");
	/* Due a second ago: the wait counts. */
	inner = cprof_span_begin_at("inner", cprof_now() - 1000000000u);
	CHECK_EQ(cprof_label_get("span", value, sizeof(value)), 5);
	CHECK_STR(value, "inner");
	CHECK(cprof_span_end(&inner) >= 1000000000u);
	CHECK_EQ(cprof_span_end(&inner), 0);
	CHECK(cprof_label_get("span", value, sizeof(value)) == 5 && !strcmp(value, "outer"));
	CHECK(cprof_span_end(&outer) < 1000000000u);
	CHECK_EQ(cprof_label_get("span", value, sizeof(value)), -ENOENT);
	CHECK_EQ(cprof_get_span_stats("inner", &s), 0);
	CHECK_EQ(s.count, 1);
	CHECK(s.p50_ns >= 990000000u && s.p999_ns == s.p50_ns && s.max_ns >= s.p50_ns);
	s.size = 1;
	CHECK_EQ(cprof_get_span_stats("inner", &s), -EINVAL);
	/* The future is no latency. */
	inner = cprof_span_begin_at("inner", UINT64_MAX);
	CHECK_EQ(cprof_span_end(&inner), 0);
}

/* Long spans are all measured. Of short ones one in 16 is, and stands for 16, whatever their
 * period. */
TEST(test_measured_spans_stand_for_all)
{
	struct cp_span_kind *k = cp_spans_get("long");
	uint64_t sums[3] = { 0 };

	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(cp_spans_weight(k), 1);
		cp_histogram_add(&k->latency, 64000);
	}
	k = cp_spans_get("short");
	CHECK_EQ(cp_spans_weight(NULL), 1);
	for (int i = 0; i < 300000; i++) {
		sums[i % 3] += cp_spans_weight(k);
		cp_histogram_add(&k->latency, 1000);
	}
	/* Standard deviation of each: 100,000 / sqrt(6,250), less than 1.3 per cent. */
	for (int i = 0; i < 3; i++)
		CHECK(sums[i] > 94000 && sums[i] < 106000);
	/* From here on they are long. */
	cp_histogram_add(&k->latency, 64000 * UINT64_C(300000));
	CHECK_EQ(cp_spans_weight(k), 1);
}

static void *end_many(void *arg)
{
	char name[16];

	for (int i = 0; i < 20000; i++) {
		struct cp_span_kind *k;

		snprintf(name, sizeof(name), "many-%d", i % 200);
		k = cp_spans_get(name);
		if (k)
			cp_histogram_add(&k->latency, 1000);
	}
	return arg;
}

TEST(test_names_are_shared_by_threads_and_bounded)
{
	uint64_t all = 0;
	pthread_t t[4];
	unsigned kinds = 0;

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, end_many, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < CP_SPANS_MAX; i++) {
		const struct cp_span_kind *k = cp_spans_at(i);

		if (k && !strncmp(k->name, "many-", 5)) {
			kinds++;
			all += k->latency.count;
		}
	}
	CHECK_EQ(kinds, 200);
	CHECK_EQ(all, 80000);
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "more-%d", i);
		cp_spans_get(name);
	}
	CHECK(!cp_spans_get("one-too-many"));
	CHECK(cp_spans_find("many-7") != NULL);
	cp_spans_fork_child();
	CHECK(!cp_spans_find("many-7"));
}

#ifdef __x86_64__
#include "stepped.h"

static struct cp_span_kind *by_handler;
static const char *handlers_name;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	if (stepped_comes(context))
		by_handler = cp_spans_get(handlers_name);
}

/* NAME is requested, and after each instruction of that the handler requests its own. */
static void check_stepped(const char *name, const char *handlers)
{
	const struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct cp_span_kind *own;

	sigaction(SIGTRAP, &act, NULL);
	handlers_name = handlers;
	for (step = 0; step < STEPS_MAX; step++) {
		came = seen = 0;
		TRACE();
		own = cp_spans_get(name);
		DONT_TRACE();
		if (!came)
			break;
		CHECK(own && own == cp_spans_find(name));
		CHECK(by_handler && by_handler == cp_spans_find(handlers));
		CHECK((own == by_handler) == !strcmp(name, handlers));
		cp_spans_fork_child();
	}
	CHECK(step > 20 && step < STEPS_MAX);
	cp_spans_fork_child();
}

TEST(test_a_name_is_given_once_however_it_is_interrupted)
{
	check_stepped("the same", "the same");
	check_stepped("one", "another");
}
#else
TEST(test_a_name_is_given_once_however_it_is_interrupted)
{
	SKIP("no stepping here");
}
#endif
