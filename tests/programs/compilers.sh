# SPDX-License-Identifier: BSD-3-Clause
# The input of the compilers: prepare of gcc.sh and clang.sh, sourced by them. Templates, exceptions and a regular
# expression for much work in the front end, and a file that contains only errors.
prepare() {
	cat >a.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define F(n) static int f##n(const char *s, int x) { int r = x; while (*s) { switch (*s++ & 7) { case 0: r += n; break; case 1: r ^= x << (n & 7); break; \
	case 2: r *= 3 + n; break; case 3: r -= (int)strlen(s); break; default: r = r * 31 + *s; } if (r % 7 == n % 7) return r; } return r + n; }
#define G(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
G(1) G(2)
int main(void) { unsigned s = 0; for (int i = 0; i < 1000; i++) s = s * 31 + f10("some text", i) + f25("more", i) + f19("end", i); printf("%u\n", s); return 0; }
EOF
	cat >b.cc <<'EOF'
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
int main() {
	std::map<std::string, std::vector<int>> m;
	std::regex word("([a-z]+)(\\d+)");
	for (int i = 0; i < 500; i++) { std::ostringstream o; o << "k" << i % 37; std::smatch s; std::string t = o.str(); if (std::regex_match(t, s, word)) m[s[2]].push_back(i); }
	try { m.at("none"); } catch (const std::out_of_range &e) { std::cout << "thrown\n"; }
	for (auto &p : m) { std::sort(p.second.rbegin(), p.second.rend()); std::cout << p.first << p.second.front() << ' '; }
	std::cout << std::endl;
}
EOF
	seq 1 50 | sed 's/.*/static int wrong& = undeclared&;/' >c.c
}
