/* SPDX-License-Identifier: BSD-3-Clause */
// Every way to allocate with every way to free that matches it, each pair ROUNDS times and with
// several sizes. Prints "site_NAME objects bytes" of what each way allocated; nothing is left.
//
//     heap-matrix ROUNDS [WITHOUT]
//
// WITHOUT: a way that this allocator leaves to libc, whose blocks it then can't free.
#include <dlfcn.h>
#include <malloc.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace
{

const size_t alignment = 64;
bool failed;

struct way {
	const char *name;
	void *(*allocate)(size_t);
	uint64_t objects, bytes;
};

// Not tail calls, because the site must be on the stack.
#define SITE(name, call)                                                                           \
	extern "C" __attribute__((noinline)) void *site_##name(size_t size)                        \
	{                                                                                          \
		void *p = call;                                                                    \
                                                                                                   \
		__asm__ volatile("" : "+r"(p));                                                    \
		return p;                                                                          \
	}

void *by_posix_memalign(size_t size)
{
	void *p = nullptr;

	return posix_memalign(&p, alignment, size) ? nullptr : p;
}

template <class F> F find(const char *name)
{
	F f;
	void *p = dlsym(RTLD_DEFAULT, name);

	memcpy(&f, &p, sizeof(f));
	return f;
}

auto mallocx = find<void *(*)(size_t, int)>("mallocx");
auto rallocx = find<void *(*)(void *, size_t, int)>("rallocx");
auto dallocx = find<void (*)(void *, int)>("dallocx");
auto sdallocx = find<void (*)(void *, size_t, int)>("sdallocx");
auto cfree = find<void (*)(void *)>("cfree");
auto free_sized = find<void (*)(void *, size_t)>("free_sized");
auto free_aligned_sized = find<void (*)(void *, size_t, size_t)>("free_aligned_sized");

const auto align = std::align_val_t(alignment);

SITE(malloc, malloc(size))
SITE(calloc, calloc(1, size))
SITE(realloc, realloc(nullptr, size))
SITE(reallocarray, reallocarray(nullptr, 1, size))
SITE(memalign, memalign(alignment, size))
SITE(aligned, aligned_alloc(alignment, size))
SITE(posix, by_posix_memalign(size))
SITE(valloc, valloc(size))
SITE(pvalloc, pvalloc(size))
SITE(mallocx, mallocx ? mallocx(size, 6) : nullptr)
SITE(rallocx, rallocx ? rallocx(site_mallocx(size), size, 0) : nullptr)
SITE(new, operator new(size))
SITE(array, operator new[](size))
SITE(newn, operator new(size, std::nothrow))
SITE(arrayn, operator new[](size, std::nothrow))
SITE(newa, operator new(size, align))
SITE(arraya, operator new[](size, align))
SITE(newan, operator new(size, align, std::nothrow))
SITE(arrayan, operator new[](size, align, std::nothrow))

// The functions that may free a block of the preceding way in the table.
void f_free(void *p, size_t)
{
	free(p);
}
void f_cfree(void *p, size_t)
{
	cfree ? cfree(p) : free(p);
}
void f_sized(void *p, size_t size)
{
	free_sized ? free_sized(p, size) : free(p);
}
void f_aligned_sized(void *p, size_t size)
{
	free_aligned_sized ? free_aligned_sized(p, alignment, size) : free(p);
}
void f_dallocx(void *p, size_t)
{
	dallocx ? dallocx(p, 0) : free(p);
}
void f_sdallocx(void *p, size_t size)
{
	sdallocx ? sdallocx(p, size, 0) : free(p);
}
void d_new(void *p, size_t)
{
	operator delete(p);
}
void d_sized(void *p, size_t size)
{
	operator delete(p, size);
}
void d_nothrow(void *p, size_t)
{
	operator delete(p, std::nothrow);
}
void d_array(void *p, size_t)
{
	operator delete[](p);
}
void d_array_sized(void *p, size_t size)
{
	operator delete[](p, size);
}
void d_array_nothrow(void *p, size_t)
{
	operator delete[](p, std::nothrow);
}
void d_aligned(void *p, size_t)
{
	operator delete(p, align);
}
void d_aligned_sized(void *p, size_t size)
{
	operator delete(p, size, align);
}
void d_aligned_nothrow(void *p, size_t)
{
	operator delete(p, align, std::nothrow);
}
void d_array_aligned(void *p, size_t)
{
	operator delete[](p, align);
}
void d_array_aligned_sized(void *p, size_t size)
{
	operator delete[](p, size, align);
}
void d_array_aligned_nothrow(void *p, size_t)
{
	operator delete[](p, align, std::nothrow);
}

using freer = void (*)(void *, size_t);
const freer plain[] = { f_free, f_cfree, f_sized, f_dallocx, nullptr };
const freer aligned[] = { f_free, f_aligned_sized, nullptr };
const freer extended[] = { f_free, f_dallocx, nullptr };
const freer extended_sized[] = { f_free, f_dallocx, f_sdallocx, nullptr };
const freer one[] = { d_new, d_sized, d_nothrow, nullptr };
const freer many[] = { d_array, d_array_sized, d_array_nothrow, nullptr };
const freer one_aligned[] = { d_aligned, d_aligned_sized, d_aligned_nothrow, nullptr };
const freer many_aligned[] = { d_array_aligned, d_array_aligned_sized, d_array_aligned_nothrow,
			       nullptr };

struct pairing {
	way w;
	const freer *freers;
} pairings[] = {
	{ { "malloc", site_malloc, 0, 0 }, plain },
	{ { "calloc", site_calloc, 0, 0 }, plain },
	{ { "realloc", site_realloc, 0, 0 }, plain },
	{ { "reallocarray", site_reallocarray, 0, 0 }, plain },
	{ { "memalign", site_memalign, 0, 0 }, aligned },
	{ { "aligned", site_aligned, 0, 0 }, aligned },
	{ { "posix", site_posix, 0, 0 }, aligned },
	{ { "valloc", site_valloc, 0, 0 }, aligned },
	{ { "pvalloc", site_pvalloc, 0, 0 }, aligned },
	{ { "mallocx", site_mallocx, 0, 0 }, extended },
	{ { "rallocx", site_rallocx, 0, 0 }, extended_sized },
	{ { "new", site_new, 0, 0 }, one },
	{ { "array", site_array, 0, 0 }, many },
	{ { "newn", site_newn, 0, 0 }, one },
	{ { "arrayn", site_arrayn, 0, 0 }, many },
	{ { "newa", site_newa, 0, 0 }, one_aligned },
	{ { "arraya", site_arraya, 0, 0 }, many_aligned },
	{ { "newan", site_newan, 0, 0 }, one_aligned },
	{ { "arrayan", site_arrayan, 0, 0 }, many_aligned },
};

const size_t sizes[] = { 0, 1, 64, 1024, 4096, 5056, 150016, 3000000 };

// The allocator's promises hold: usable to the size, aligned, zeroed.
void use(const char *name, unsigned char *p, size_t size)
{
	bool aligned_way = strchr(name, 'a') && !strcmp(name + strlen(name) - 1, "a");

	if (!strcmp(name, "calloc"))
		for (size_t i = 0; i < size; i++)
			failed |= p[i] != 0;
	if (size)
		memset(p, 0xa5, size);
	failed |= malloc_usable_size(p) < size || reinterpret_cast<uintptr_t>(p) % 8;
	if (aligned_way || !strcmp(name, "memalign") || !strcmp(name, "posix"))
		failed |= reinterpret_cast<uintptr_t>(p) % alignment != 0;
}

void count(const char *name, uint64_t size)
{
	for (auto &p : pairings)
		if (!strcmp(p.w.name, name)) {
			p.w.objects++;
			p.w.bytes += size;
		}
}

void pair(pairing &x, freer release, size_t size)
{
	errno = 77;
	unsigned char *p = static_cast<unsigned char *>(x.w.allocate(size));

	if (!p)
		return;
	count(x.w.name, size);
	if (x.w.allocate == site_rallocx)
		count("mallocx", size);
	use(x.w.name, p, size);
	release(p, size);
	if (errno != 77) {
		fprintf(stderr, "%s of %zu changed errno to %d\n", x.w.name, size, errno);
		failed = true;
	}
}

void pairs(pairing &x)
{
	// Of size 0, jemalloc's own functions promise nothing.
	size_t first = x.freers == extended || x.freers == extended_sized;

	// The C++ library asks malloc for a multiple of the alignment.
	if (!strncmp(x.w.name, "new", 3) || !strncmp(x.w.name, "array", 5))
		first = 2;

	for (const freer *f = x.freers; *f; f++)
		for (size_t i = first; i < sizeof(sizes) / sizeof(*sizes); i++)
			pair(x, *f, sizes[i]);
}

// Growing and shrinking keeps the contents.
void chain(unsigned round)
{
	size_t had = 0;
	unsigned char *p = nullptr;

	for (size_t size = 10 + round % 7; size < 2000000; size = size * 3 + round % 5) {
		p = static_cast<unsigned char *>(realloc(p, size));
		for (size_t i = 0; i < had; i += 1 + had / 8)
			failed |= p[i] != static_cast<unsigned char>(i);
		for (size_t i = 0; i < size; i++)
			p[i] = static_cast<unsigned char>(i);
		had = size;
	}
	for (size_t size = had; size > 8; size /= 5) {
		p = static_cast<unsigned char *>(realloc(p, size));
		failed |= p[size - 1] != static_cast<unsigned char>(size - 1);
	}
	free(p);
}

} // namespace

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 1;

	for (unsigned round = 0; round < rounds; round++) {
		for (auto &x : pairings)
			if (argc < 3 || strcmp(argv[2], x.w.name))
				pairs(x);
		chain(round);
	}
	for (auto &x : pairings)
		if (x.w.objects)
			printf("site_%s %llu %llu\n", x.w.name,
			       static_cast<unsigned long long>(x.w.objects),
			       static_cast<unsigned long long>(x.w.bytes));
	return failed;
}
