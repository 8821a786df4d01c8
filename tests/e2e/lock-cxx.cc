/* SPDX-License-Identifier: BSD-3-Clause */
/* The locks of the C++ library, each waited for in a function of its name. */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

std::mutex plain;
std::shared_mutex shared;
std::timed_mutex timed;
std::recursive_mutex recursive;
std::condition_variable condition;
static std::mutex beside;
static long sum;

/* Each lock is held for longer than the one before, or nobody would wait for it. */
static void nap(int longer)
{
	std::this_thread::sleep_for(longer * 1ms);
}

[[gnu::noinline]] static void in_mutex()
{
	std::lock_guard<std::mutex> g(plain);
	sum++;
	nap(1);
}

[[gnu::noinline]] static void in_shared()
{
	std::shared_lock<std::shared_mutex> g(shared);
	nap(2);
}

[[gnu::noinline]] static void in_exclusive()
{
	std::unique_lock<std::shared_mutex> g(shared);
	sum++;
	nap(3);
}

[[gnu::noinline]] static void in_timed()
{
	std::unique_lock<std::timed_mutex> g(timed, 60s);
	if (g)
		nap(4);
}

[[gnu::noinline]] static void in_recursive()
{
	std::lock_guard<std::recursive_mutex> g(recursive);
	std::lock_guard<std::recursive_mutex> again(recursive);
	nap(5);
}

[[gnu::noinline]] static void in_condition()
{
	std::unique_lock<std::mutex> g(beside);
	condition.wait_for(g, 2ms);
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 6; i++)
		threads.emplace_back([i] {
			for (int n = 0; n < 8; n++) {
				in_mutex();
				(i + n) & 1 ? in_shared() : in_exclusive();
				in_timed();
				in_recursive();
				in_condition();
			}
		});
	for (auto &t : threads)
		t.join();
	std::printf("%ld\n", sum);
}
