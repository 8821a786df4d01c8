/* SPDX-License-Identifier: BSD-3-Clause */
// C++ exceptions thrown through several frames by four threads at once.
#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <time.h>

namespace
{
int destroyed[4];

struct guard {
	int &count;
	explicit guard(int &c) : count(c)
	{
	}
	~guard()
	{
		count++;
	}
};

double cpu()
{
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline, noipa)) int deep(int depth, int &count)
{
	guard g(count);
	if (depth == 0)
		throw std::runtime_error("thrown from " + std::to_string(count));
	return deep(depth - 1, count) + 1;
}

void *storm(void *arg)
{
	int &count = *static_cast<int *>(arg);
	double end = cpu() + 0.25;
	long caught = 0, thrown = 0;

	while (cpu() < end)
		for (int i = 0; i < 50; i++) {
			thrown++;
			count = 0;
			try {
				deep(i % 20, count);
			} catch (const std::exception &e) {
				caught += count == i % 20 + 1;
			}
		}
	return thrown == caught ? nullptr : arg;
}
} // namespace

int main()
{
	pthread_t threads[4];
	bool wrong = false;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], nullptr, storm, &destroyed[i]);
	for (auto t : threads) {
		void *result;
		pthread_join(t, &result);
		wrong = wrong || result;
	}
	std::puts(wrong ? "an exception went astray" : "all caught");
	return wrong;
}
