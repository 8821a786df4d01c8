/* SPDX-License-Identifier: BSD-3-Clause */
// Forks while other threads allocate, load and unload a module, throw, and print: whatever they
// hold at that moment is held for good in the child, which goes on to use malloc and to exit.
//
//   fork-storm COUNT MODULE     0: until the input ends
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host.h"

static std::atomic<bool> stop;

static void allocate()
{
	while (!stop) {
		std::vector<std::string> v;

		for (int i = 0; i < 100; i++)
			v.push_back(std::string(size_t(i) * 50, 'x'));
	}
}

static void load(const char *module)
{
	while (!stop) {
		void *handle = dlopen(module, RTLD_NOW);

		EXPECT(handle != nullptr);
		if (handle)
			dlclose(handle);
	}
}

__attribute__((noinline)) static void thrower(int depth)
{
	if (!depth)
		throw std::runtime_error("as planned");
	thrower(depth - 1);
	__asm__ volatile("");
}

static void throw_and_catch()
{
	while (!stop)
		try {
			thrower(20);
			EXPECT(false);
		} catch (const std::exception &e) {
			EXPECT(!strcmp(e.what(), "as planned"));
		}
}

static void make_threads()
{
	while (!stop)
		std::thread([] { burn(0.0005); }).join();
}

__attribute__((noinline)) static void child(int i)
{
	std::string s(size_t(i) * 100 + 1, 'c');

	burn(0.001);
	_exit(s.size() == size_t(i) * 100 + 1 ? 4 : 1);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0;
	std::vector<std::thread> threads;

	threads.emplace_back(allocate);
	threads.emplace_back(load, argv[2]);
	threads.emplace_back(throw_and_catch);
	threads.emplace_back(make_threads);
	for (int i = 0; count ? i < count : host_goes_on(CLOCK_MONOTONIC, 0); i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			child(i % 1000);
		EXPECT(waitpid(pid, &status, 0) == pid);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	}
	stop = true;
	for (auto &t : threads)
		t.join();
	printf("%d forks\n", count);
	HOST_END();
}
