/* SPDX-License-Identifier: BSD-3-Clause */
// C++ whose time goes into exceptions. Names are demangled, and unwinding a stack inside the
// unwinder is no danger.
//
//     c++ -O2 -g 09-exceptions.cc -o 09-exceptions
//     LD_PRELOAD=libcprof.so CPUPROFILE=09-exceptions.pb ./09-exceptions
//       -> invalid
//     cprof top -cum 09-exceptions.pb
//       -> shop::parse
//     cprof peek shop::parse 09-exceptions.pb
//       -> shop::count_invalid
#include <iostream>
#include <stdexcept>
#include <string>

namespace shop
{
__attribute__((noinline)) int parse(const std::string &text)
{
	if (text.empty() || text[0] < '0' || text[0] > '9')
		throw std::invalid_argument("not a number: " + text);
	return std::stoi(text);
}

__attribute__((noinline)) int count_invalid(int times)
{
	int invalid = 0;

	for (int i = 0; i < times; i++) {
		try {
			parse(i % 2 ? "x" : "17");
		} catch (const std::invalid_argument &) {
			invalid++;
		}
	}
	return invalid;
}
} // namespace shop

int main()
{
	std::cout << shop::count_invalid(400000) << " invalid\n";
	return 0;
}
