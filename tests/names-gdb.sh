#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares the names of inlined functions that cprof finds with those that gdb says for the same addresses:
#
#     tests/names-gdb.sh [CPROF] [PROGRAM...]
#
# Without programs, a C++ program is compiled by each of g++ and clang++ with some thousand inlined functions. Says how
# many of them are the same, and shows the others. Not part of make check: gdb takes a minute and some hundred MB.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
cprof=$(readlink -f "${1:-./cprof}")
shift || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in gdb python3 readelf; do
	command -v $program >/dev/null || { echo "SKIP: $program is not installed"; exit 77; }
done
cd "$work"
cat >many.cc <<'END'
#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>
namespace app { namespace {
struct item { std::string name; long weight; };
template <class T, class F> inline auto apply(T &t, F f) { return f(t); }
inline bool heavy(const item &i) { return i.weight > 7; }
struct visitor { long operator()(const std::string &s) const { return static_cast<long>(s.size()); } long operator()(long n) const { return n; } };
}
static long total(std::vector<item> &v)
{
	std::sort(v.begin(), v.end(), [](const item &a, const item &b) { return a.weight < b.weight; });
	v.erase(std::remove_if(v.begin(), v.end(), heavy), v.end());
	std::function<long(long)> twice = [&v](long n) { return 2 * n + static_cast<long>(v.size()); };
	return twice(apply(v, [](std::vector<item> &w) { return std::accumulate(w.begin(), w.end(), 0L, [](long n, const item &i) { return n + i.weight; }); }));
}
}
int main(int argc, char **argv)
{
	std::map<std::string, std::vector<app::item>> all;
	std::unordered_map<unsigned long, std::shared_ptr<app::item>> by;
	std::set<std::pair<short, long long>> seen;
	std::regex expression("([a-z]+)([0-9]*)");
	std::variant<std::string, long> one = 5L;
	for (int i = 0; i < argc; i++) {
		std::smatch m;
		std::string s = argv[i];
		if (std::regex_search(s, m, expression))
			all[m[1]].push_back({m[2], i});
		by[static_cast<unsigned long>(i)] = std::make_shared<app::item>(app::item{s, i});
		seen.insert({static_cast<short>(i), i});
	}
	std::thread t([&all] { for (auto &a : all) std::cout << a.first << app::total(a.second) << "\n"; });
	t.join();
	std::stringstream out;
	out << std::visit(app::visitor(), one) << by.size() << seen.size();
	std::cout << out.str() << "\n";
}
END
if [ $# = 0 ]; then
	for compiler in g++ clang++; do
		command -v $compiler >/dev/null || continue
		$compiler -std=c++17 -O2 -g -pthread -o "$work/by-$compiler" many.cc && set -- "$@" "$work/by-$compiler"
	done
fi

cat >ask.py <<'END'
import gdb
import json
import os
start, size, step = (int(n, 0) for n in os.environ["PLACES"].split())
found = {}
for pc in range(start, start + size, step):
    block, names = gdb.block_for_pc(pc), []
    while block and not block.is_static and not block.is_global:
        if block.function:
            names.append(block.function.print_name)
            if not block.function.symtab or block.superblock is None or block.superblock.is_static:
                break
        block = block.superblock
    found[pc] = names
json.dump(found, open("gdb.json", "w"))
END
cat >compare.py <<'END'
import json
import re
import subprocess
import sys
cprof, program = sys.argv[1:3]
start, size, step = (int(n, 0) for n in sys.argv[3:6])
from pprof_build import Profile
p = Profile([("samples", "count")])
exe = p.mapping(program, known=False)
for pc in range(start, start + size, step):
    p.sample([p.location([], exe, int(sys.argv[6], 0) + pc - start)], [1], {"pc": pc})
p.write("in.pb")
subprocess.run([cprof, "symbolize", "-o", "out.pb", "in.pb"], check=True)
ours = {}
import gzip
data = gzip.open("out.pb").read()


def varint(at):
    n = shift = 0
    while True:
        b = data[at]
        n |= (b & 127) << shift
        at, shift = at + 1, shift + 7
        if b < 128:
            return n, at


def fields(at, end):
    while at < end:
        key, at = varint(at)
        if key & 7 == 2:
            n, at = varint(at)
            yield key >> 3, (at, at + n)
            at += n
        else:
            n, at = varint(at)
            yield key >> 3, n


strings, functions, locations = [], {}, []
for field, value in fields(0, len(data)):
    if field == 6:
        strings.append(data[value[0]:value[1]].decode())
    elif field == 5:
        f = dict(fields(*value))
        functions[f[1]] = f.get(2, 0)
    elif field == 4:
        locations.append(value)
for value in locations:
    address, lines = 0, []
    for field, v in fields(*value):
        if field == 3:
            address = v
        elif field == 4:
            lines.append(dict(fields(*v)).get(1, 0))
    pc = (address & 0xffffffff) - int(sys.argv[6], 0) + start
    ours[pc] = [strings[functions[n]] if n else "?" for n in lines]


def plain(name):
    """Without the parameters of the function itself, and without what is only a matter of spaces."""
    name = re.sub(r" \[clone[^]]*\]|\[abi:[a-z0-9]*\]", "", name)
    name = re.sub(r"( const)?( volatile)?( &&?)?$", "", name)
    if name.endswith(")") and not name.endswith("operator()") and not name.endswith("(anonymous namespace)"):
        depth = 0
        for i in range(len(name) - 1, -1, -1):
            depth += (name[i] == ")") - (name[i] == "(")
            if not depth:
                break
        if i and not name[:i].endswith("operator"):
            name = name[:i]
        elif name[:i].endswith("operator") and name[i:] != "()":
            name = name[:i] + "()"
    # gdb keeps the compiler's spelling of types in template arguments in some names, the demangler's in others.
    for spelled, usual in (("long unsigned int", "unsigned long"), ("long long int", "long long"), ("long int", "long"),
                           ("short int", "short"), ("{anonymous}", "(anonymous namespace)"),
                           *((f"std::basic_{s}<char, std::char_traits<char> >", f"std::{s}") for s in ("istream", "ostream"))):
        name = re.sub(rf"(?<!\w){re.escape(spelled)}", usual, name)
    name = re.sub(r"\bconst\b", "", name)
    return name.replace(" ", "")


same, other, seen, deeper = 0, {}, set(), 0
for pc, theirs in json.load(open("gdb.json")).items():
    mine = ours.get(int(pc), [])
    if len(mine) != len(theirs):
        deeper += len(theirs) > 1
        continue
    for a, b in zip(mine[:-1], theirs[:-1]):
        if (a, b) in seen:
            continue
        seen.add((a, b))
        if plain(a) == plain(b):
            same += 1
        else:
            other[a, b] = pc
print(f"{program.split('/')[-1]}: {len(seen)} inlined functions, {same} with gdb's name, {len(other)} with another; "
      f"{deeper} addresses where gdb has another depth")
for a, b in list(other)[:12]:
    same_part = next((i for i, (x, y) in enumerate(zip(plain(a), plain(b))) if x != y), 0)
    print(f"  cprof {plain(a)[max(0, same_part - 60):][:160]}\n  gdb   {plain(b)[max(0, same_part - 60):][:160]}")
END
for program; do
	program=$(readlink -f "$program")
	# Address, offset and size of .text.
	read -r address offset size < <(readelf -SW "$program" |
		sed -n 's/.* \.text *PROGBITS *\([0-9a-f]*\) \([0-9a-f]*\) \([0-9a-f]*\) .*/0x\1 0x\2 0x\3/p')
	step=$(((size + 99999) / 100000))
	PLACES="$address $size $step" timeout 300 gdb -nx -batch -ex "source ask.py" "$program" >gdb.log 2>&1 ||
		{ tail -n 3 gdb.log; exit 1; }
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/tests/lib timeout 300 python3 compare.py \
		"$cprof" "$program" "$address" "$size" "$step" "$offset"
done
