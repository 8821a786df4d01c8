/* SPDX-License-Identifier: BSD-3-Clause */
// Four threads that price orders; an order that can't be priced is thrown, through frames that
// clean up.
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

namespace shop
{

struct bad_order : std::runtime_error {
	explicit bad_order(int id) : std::runtime_error("order " + std::to_string(id)), id(id)
	{
	}
	int id;
};

struct Order {
	int id;
	std::vector<int> items;
};

// Where most of the time goes.
NOINLINE long mix(long value)
{
	volatile long v = value;

	for (int i = 0; i < 2000; i++)
		v = v * 6364136223846793005 + 1442695040888963407;
	return v;
}

template <typename Visitor> NOINLINE void each_item(const Order &order, Visitor visit)
{
	std::string note(40, 'x');

	for (int item : order.items)
		visit(item);
}

class Pricer
{
      public:
	virtual ~Pricer() = default;
	virtual NOINLINE long price(const Order &order)
	{
		std::unique_ptr<long> sum(new long(0));

		each_item(order, [&](int item) {
			if (item % 7 == 6)
				throw bad_order(order.id);
			*sum += mix(item) & 0xff;
		});
		return *sum;
	}
};

NOINLINE long work(int first, int count)
{
	std::unique_ptr<Pricer> pricer(new Pricer);
	std::map<int, int> refused;
	long sum = 0;

	for (int id = first; id < first + count; id++) {
		Order order{ id, std::vector<int>(5) };

		std::iota(order.items.begin(), order.items.end(), id % 11);
		try {
			sum += pricer->price(order);
		} catch (const bad_order &e) {
			refused[e.id]++;
		}
	}
	return sum + (long)refused.size();
}

} // namespace shop

int main()
{
	std::vector<std::thread> threads;
	std::vector<long> sums(4);

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&sums, i] { sums[i] = shop::work(i * 1000, 30000); });
	for (auto &t : threads)
		t.join();
	for (long sum : sums)
		std::printf("%ld\n", sum);
	try {
		throw shop::bad_order(4711);
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
}
