/* Unwinding buffers: nobody shares one. */
#include "harness.h"

#include "sigsafe/scratch.h"

static void test_scratch_comes_back_to_who_had_it(void)
{
	uint16_t last = 0;
	struct cp_scratch *a = cp_scratch_take(&last), *b;

	CHECK(a != NULL);
	b = cp_scratch_take(&last);
	CHECK(b != NULL && b != a);
	cp_scratch_give(b);
	CHECK(cp_scratch_take(&last) == b);
	cp_scratch_give(b);
	cp_scratch_give(a);
}

static void test_scratch_is_bounded(void)
{
	static struct cp_scratch *all[2000];
	uint16_t last = 0;
	unsigned n = 0;

	while (n < 2000 && (all[n] = cp_scratch_take(&last)))
		n++;
	CHECK_EQ(n, 1024);
	for (unsigned i = 0; i < n; i++)
		cp_scratch_give(all[i]);
	CHECK(cp_scratch_take(&last) != NULL);
}

int main(void)
{
	RUN(test_scratch_comes_back_to_who_had_it);
	RUN(test_scratch_is_bounded);
	return harness_end();
}
