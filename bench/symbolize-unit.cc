/* SPDX-License-Identifier: BSD-3-Clause */
/* One unit of the program that symbolize.sh makes: templates and inlined calls as C++ programs have
 * them, so that their debug information is as large. It is compiled once and linked many times
 * under other names.
 */
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct shape {
	int side[N];

	int area() const
	{
		int s = 0;

		for (int i = 0; i < N; i++)
			s += side[i] * i;
		return s;
	}
};

template <int N> int work(const std::string &text)
{
	std::map<std::string, std::vector<shape<N>>> table;
	std::unordered_map<int, std::string> names;
	std::set<std::pair<int, std::string>> order;
	std::mt19937 random(N);
	std::istringstream in(text);

	for (std::string word; in >> word;) {
		table[word].push_back({});
		names[random() % 100] += word;
		order.insert({ int(word.size()), word });
	}
	std::vector<std::string> sorted;
	for (auto &x : table)
		sorted.push_back(x.first);
	std::sort(sorted.begin(), sorted.end(),
		  [](auto &a, auto &b) { return a.size() * N < b.size() * N; });
	std::function<int(int)> f = [&](int i) { return i < 2 ? i : f(i - 1) + shape<N>{}.area(); };
	return f(N) + int(names.size() + order.size() + sorted.size());
}

int entry(const std::string &text)
{
	std::regex r("(a+)(b|c)*[0-9]+");
	std::smatch m;

	return work<1>(text) + work<2>(text) + work<3>(text) + work<4>(text) + work<5>(text) +
	       std::regex_search(text, m, r);
}
