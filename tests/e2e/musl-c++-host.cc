/* SPDX-License-Identifier: BSD-3-Clause */
/* For musl-c++.sh, which has a C++ compiler for musl compile it: exceptions through many frames, in
 * two threads, and what each mode measures. Its output tells what it did. With an argument it works
 * for longer. */
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN __attribute__((noinline))
#define KEEP_FRAME __asm__ volatile("" ::: "memory") /* no tail call */

static constexpr int throws = 4000, depth = 20;
static unsigned long rest = 1000;
static volatile unsigned long sink;

struct failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Counts itself when an exception passes. */
struct guard {
	int &count;
	~guard()
	{
		count++;
	}
};

OWN static void burn(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink = sink + i * i;
	KEEP_FRAME;
}

OWN static int thrower(int left, int &unwound)
{
	guard g{ unwound };

	if (!left) {
		burn(2000 + rest / throws);
		throw failure("thrown");
	}
	int result = thrower(left - 1, unwound) + 1;
	KEEP_FRAME;
	return result;
}

OWN static int catcher()
{
	int unwound = 0, caught = 0;

	for (int i = 0; i < throws; i++) {
		try {
			thrower(depth, unwound);
		} catch (const failure &f) {
			caught += std::string(f.what()) == "thrown";
		}
	}
	burn(rest);
	return caught == throws ? unwound : -1;
}

static std::mutex held;
static bool is_held;

OWN static void nap()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

OWN static void holds_mutex()
{
	{
		std::lock_guard<std::mutex> l(held);

		__atomic_store_n(&is_held, true, __ATOMIC_RELEASE);
		nap();
	}
	KEEP_FRAME;
}

OWN static void wants_mutex()
{
	while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
		std::this_thread::yield();
	std::lock_guard<std::mutex> l(held);
	KEEP_FRAME;
}

static std::vector<char *> blocks;

OWN static void by_new()
{
	for (int i = 0; i < 100; i++)
		blocks.push_back(new char[100]);
	KEEP_FRAME;
}

OWN static void by_aligned_new()
{
	for (int i = 0; i < 30; i++)
		blocks.push_back(new (std::align_val_t(64)) char[192]);
	KEEP_FRAME;
}

OWN static void by_delete()
{
	for (int i = 0; i < 50; i++)
		delete[] blocks[(size_t)i];
	KEEP_FRAME;
}

OWN static void writes()
{
	const std::string text(1000, 'x');
	int fd = open("musl-c++.data", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < 40; i++)
		if (write(fd, text.data(), text.size()) != 1000)
			throw failure("write");
	close(fd);
	KEEP_FRAME;
}

OWN static void touches()
{
	const size_t size = 16 << 20;
	auto *p = (char *)mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

	madvise(p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	KEEP_FRAME;
}

int main(int argc, char **)
{
	int of_thread = 0;

	if (argc > 1)
		rest = 200000000;
	blocks.reserve(200);
	by_new();
	by_aligned_new();
	by_delete();
	writes();
	touches();
	std::thread other([&] {
		wants_mutex();
		of_thread = catcher();
	});
	holds_mutex();
	int of_main = catcher();

	other.join();
	std::printf("%d guards in main, %d in the thread\n", of_main, of_thread);
	try {
		std::vector<int>().at(7);
	} catch (const std::out_of_range &) {
		std::puts("out of range");
	}
	return of_main == throws * (depth + 1) ? 7 : 1;
}
