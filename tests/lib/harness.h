/* SPDX-License-Identifier: BSD-3-Clause */
/* A test program: functions that check, run in the order in which they stand, reported as TAP.
 *
 *     TEST(test_ring_keeps_its_depth) { CHECK_EQ(cp_ring_depth(&r, 64), 64); }
 *
 * The header has main. A program that needs one of its own, for what must be there before or go
 * after the tests, defines OWN_MAIN before it includes the header; its main calls harness_all() and
 * returns harness_end().
 *
 * A failed CHECK prints where and what, and the test goes on, so that one run shows
 * all that is wrong. Exit status 0 passed, 1 failed, 77 all skipped (automake's codes).
 */
#ifndef HARNESS_H
#define HARNESS_H

#include "system.h"

static int harness_tests, harness_failed_tests, harness_failures, harness_skips;
static const char *harness_skip_reason;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			harness_failures++;                                                        \
			printf("# %s:%d: not true: %s\n", __FILE__, __LINE__, #cond);              \
		}                                                                                  \
	} while (0)

#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_) {                                                               \
			harness_failures++;                                                        \
			printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_,  \
			       want_);                                                             \
		}                                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *got_ = (got), *want_ = (want);                                         \
		if (!got_ || strcmp(got_, want_)) {                                                \
			harness_failures++;                                                        \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got,    \
			       got_ ? got_ : "(null)", want_);                                     \
		}                                                                                  \
	} while (0)

/* Inside a test: say why it can't run here, and return. */
#define SKIP(reason)                                                                               \
	do {                                                                                       \
		harness_skip_reason = (reason);                                                    \
		return;                                                                            \
	} while (0)

struct harness_test {
	void (*run)(void);
	const char *name;
	struct harness_test *next;
};

static struct harness_test *harness_first;
__attribute__((unused)) static struct harness_test **harness_last = &harness_first;

#define TEST(test)                                                                                 \
	static void test(void);                                                                    \
	__attribute__((constructor)) static void harness_add_##test(void)                          \
	{                                                                                          \
		static struct harness_test harness_this = { test, #test, NULL };                   \
                                                                                                   \
		*harness_last = &harness_this;                                                     \
		harness_last = &harness_this.next;                                                 \
	}                                                                                          \
	static void test(void)

#define RUN(test) harness_run(test, #test)

static void harness_run(void (*test)(void), const char *name)
{
	int before = harness_failures;

	harness_tests++;
	harness_skip_reason = NULL;
	test();
	if (harness_skip_reason) {
		harness_skips++;
		printf("ok %d - %s # SKIP %s\n", harness_tests, name, harness_skip_reason);
	} else if (harness_failures > before) {
		harness_failed_tests++;
		printf("not ok %d - %s\n", harness_tests, name);
	} else {
		printf("ok %d - %s\n", harness_tests, name);
	}
	fflush(stdout);
}

/* Run all tests of the file, in their order there. */
__attribute__((unused)) static void harness_all(void)
{
	for (const struct harness_test *t = harness_first; t; t = t->next)
		harness_run(t->run, t->name);
}

static int harness_end(void)
{
	printf("1..%d\n", harness_tests);
	if (harness_failed_tests)
		return 1;
	return harness_tests && harness_skips == harness_tests ? 77 : 0;
}

#ifndef OWN_MAIN
int main(void)
{
	harness_all();
	return harness_end();
}
#endif

#endif
