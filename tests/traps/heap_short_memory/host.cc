/* SPDX-License-Identifier: BSD-3-Clause */
/* Small blocks where there is no memory for larger ones: they fail neither, nor say that they might
 * have. Prints for each way how many did.
 */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

namespace
{
const int TIMES = 100000;
const std::size_t SIZE = 64, ROOM = 24 << 20, BEFORE = 200000;

int handled;

void handler()
{
	handled++;
	throw std::bad_alloc();
}

void *by_new()
{
	try {
		return ::operator new(SIZE);
	} catch (const std::bad_alloc &) {
		return nullptr;
	}
}

void *by_nothrow()
{
	return ::operator new(SIZE, std::nothrow);
}

void *by_malloc()
{
	return std::malloc(SIZE);
}

void *by_calloc()
{
	return std::calloc(4, SIZE / 4);
}

void *by_realloc()
{
	return std::realloc(std::malloc(SIZE), SIZE);
}

void *by_aligned_alloc()
{
	return aligned_alloc(16, SIZE);
}

void *by_posix_memalign()
{
	void *p = nullptr;

	return posix_memalign(&p, 16, SIZE) ? nullptr : p;
}

void *(*mallocx)(std::size_t, int), *(*rallocx)(void *, std::size_t, int);

void *by_mallocx()
{
	return mallocx(SIZE, 0);
}

void *by_rallocx()
{
	void *p = mallocx(SIZE, 0);

	return p ? rallocx(p, SIZE, 0) : p;
}

const struct {
	const char *name;
	void *(*allocate)();
} ways[] = { { "new", by_new },
	     { "new(nothrow)", by_nothrow },
	     { "malloc", by_malloc },
	     { "calloc", by_calloc },
	     { "realloc", by_realloc },
	     { "aligned_alloc", by_aligned_alloc },
	     { "posix_memalign", by_posix_memalign },
	     { "mallocx", by_mallocx },
	     { "rallocx", by_rallocx } };

void *volatile seen;

void try_all(bool say)
{
	for (auto &way : ways) {
		int failed = 0, changed = 0;

		if (!mallocx && (way.allocate == by_mallocx || way.allocate == by_rallocx))
			continue;
		handled = 0;
		for (int i = 0; i < TIMES; i++) {
			errno = 0;
			seen = way.allocate();
			failed += !seen;
			changed += seen && errno;
			std::free(seen);
		}
		if (say)
			std::printf("%s: %d failed, %d asked the handler, %d changed errno\n",
				    way.name, failed, handled, changed);
	}
}

struct block {
	block *next;
};

/* Of so many at most, or until there is no memory; the newest first. */
block *fill(std::size_t size, std::size_t count)
{
	block *last = nullptr, *b;

	for (; count && (b = static_cast<block *>(std::malloc(size))); count--) {
		b->next = last;
		last = b;
	}
	return last;
}

/* Every second one: no two of them make a larger one. */
void free_some(block *b)
{
	for (; b && b->next; b = b->next) {
		block *gone = b->next;

		b->next = gone->next;
		std::free(gone);
	}
}

/* Address space for so much more. */
void limit_memory()
{
	struct rlimit l;
	long pages = 0;
	FILE *f = std::fopen("/proc/self/statm", "r");

	if (!f || std::fscanf(f, "%ld", &pages) != 1)
		std::exit(2);
	std::fclose(f);
	getrlimit(RLIMIT_AS, &l);
	l.rlim_cur = static_cast<rlim_t>(pages) * 4096 + ROOM;
	setrlimit(RLIMIT_AS, &l);
}

template <typename F> void find(F *&f, const char *name)
{
	if (dlsym(RTLD_DEFAULT, "mallctl"))
		f = reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
}
} // namespace

int main()
{
	static char buffer[4096];
	block *small;

	std::setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	find(mallocx, "mallocx");
	find(rallocx, "rallocx");
	std::set_new_handler(handler);
	/* Memory that exists only once is found once. */
	try_all(false);
	small = fill(SIZE, BEFORE);
	limit_memory();
	fill(1000, SIZE_MAX);
	free_some(small);
	/* The memory of samples among them is in use again. */
	fill(SIZE, BEFORE / 2 - BEFORE / 20);
	for (std::size_t size = ROOM; size > 1000; size -= size / 16)
		fill(size, SIZE_MAX);
	try_all(true);
	std::fflush(stdout);
	/* No memory for destructors, nor for a profile. */
	_exit(0);
}
