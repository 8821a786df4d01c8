/* SPDX-License-Identifier: BSD-3-Clause */
// The program of tool-names.sh: inlined functions that have no linkage name, because they are local
// to this file.
#include <cstdio>
#include <cstdlib>

#define INLINED __attribute__((always_inline)) inline
#define ROUNDS(x)                                                                                  \
	for (int i = 0; i < 20; i++)                                                               \
	x = (x)*33 + ((x) >> 7)

namespace svc
{
namespace
{
INLINED unsigned hidden(unsigned x)
{
	ROUNDS(x);
	return x;
}
struct secret {
	unsigned v;
};
} // namespace

static INLINED unsigned mix(unsigned x)
{
	ROUNDS(x);
	return x;
}

template <class T> struct box {
	T v;
	INLINED unsigned spin(unsigned x) const
	{
		ROUNDS(x);
		return x + static_cast<unsigned>(sizeof(v));
	}
};

template <class T> static INLINED unsigned templated(unsigned x)
{
	ROUNDS(x);
	return x + static_cast<unsigned>(sizeof(T));
}

namespace
{
template <class T> struct shelf {
	struct inner {
		static INLINED unsigned turn(unsigned x)
		{
			ROUNDS(x);
			return x + static_cast<unsigned>(sizeof(T));
		}
	};
};
} // namespace
} // namespace svc

__attribute__((noinline)) unsigned worker(int n)
{
	auto a = [](unsigned y) __attribute__((always_inline))
	{
		ROUNDS(y);
		return y;
	};
	auto b = [](unsigned y) __attribute__((always_inline))
	{
		ROUNDS(y);
		return y + 1;
	};
	auto c = [](const char *s, unsigned long y) __attribute__((always_inline))
	{
		ROUNDS(y);
		return static_cast<unsigned>(y) + static_cast<unsigned>(*s);
	};
	unsigned x = static_cast<unsigned>(n);

	for (int k = 0; k < n; k++) {
		x = a(x);
		x = b(x);
		x = c("s", x);
		x = svc::mix(x);
		x = svc::hidden(x);
		x = svc::box<unsigned long>().spin(x);
		x = svc::box<svc::secret>().spin(x);
		x = svc::templated<unsigned short>(x);
		x = svc::templated<const char *>(x);
		x = svc::shelf<long long>::inner::turn(x);
	}
	return x;
}

static __attribute__((noinline)) unsigned helper(const long *n, char)
{
	auto a = [](unsigned y) __attribute__((always_inline))
	{
		ROUNDS(y);
		auto deep = [](unsigned z) __attribute__((always_inline))
		{
			ROUNDS(z);
			return z;
		};
		return deep(y);
	};
	return a(static_cast<unsigned>(*n));
}

int main(int argc, char **argv)
{
	long n = argc;
	unsigned (*volatile call)(const long *, char) = helper;
	auto a = [](unsigned y) __attribute__((always_inline))
	{
		ROUNDS(y);
		return y;
	};

	printf("%u\n", worker(argc > 1 ? atoi(argv[1]) : 3) + call(&n, 'x') +
			       a(static_cast<unsigned>(argc)));
}
