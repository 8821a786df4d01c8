/* SPDX-License-Identifier: BSD-3-Clause */
/* Usage: pprof-first-rows-host heap | lock [wait]
 *
 * heap: keeps memory that C++'s containers, new and malloc allocate for functions of this file.
 * lock: threads wait in update() for a mutex, until ENOUGH of them had to wait.
 * wait: it begins at the end of its input.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define KEPT __attribute__((noinline))

struct item {
	char *text;
	item() : text(static_cast<char *>(malloc(500)))
	{
	}
	KEPT item(const item &other) : text(static_cast<char *>(malloc(500)))
	{
		memcpy(text, other.text, 500);
	}
};

/* The program's own allocator runs below std::allocator_traits. */
template <class T> struct pool {
	using value_type = T;
	KEPT T *allocate(size_t n)
	{
		T *block = static_cast<T *>(malloc(n * sizeof(T)));

		*block = T(); /* so that malloc is no tail call */
		return block;
	}
	KEPT void deallocate(T *p, size_t)
	{
		free(p);
	}
};

static std::vector<void *> blocks;
static std::vector<int, pool<int>> numbers;
static std::vector<std::string> texts;
static std::vector<item> items;

KEPT static void keep_block()
{
	blocks.push_back(new char[4000]);
}

KEPT static void keep_text()
{
	texts.push_back(std::string(3000, 'x'));
}

/* The constructor of the program's own class runs below std::vector's functions. */
KEPT static void keep_item(const item &i)
{
	items.push_back(i);
}

KEPT static void keep_number()
{
	numbers.push_back(1);
}

static int use_heap()
{
	item first;

	for (int i = 0; i < 1000; i++) {
		keep_block();
		keep_text();
		keep_item(first);
		keep_number();
	}
	_exit(0); /* texts and items are not destroyed */
}

static std::mutex shared_mutex;
static std::atomic<int> waited;

KEPT static void update()
{
	std::lock_guard<std::mutex> hold(shared_mutex);

	/* Long enough for the other thread to come to the lock. */
	usleep(1000);
}

static void work()
{
	while (waited < 50) {
		if (shared_mutex.try_lock())
			shared_mutex.unlock();
		else
			waited++;
		update();
	}
}

static int use_lock()
{
	std::thread other(work);

	work();
	other.join();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	while (argc > 2 && getchar() != EOF)
		;
	return strcmp(argv[1], "heap") ? use_lock() : use_heap();
}
