# SPDX-License-Identifier: BSD-3-Clause
# Heap profiles of real programs: same output and status as without, every stack complete, and what
# each is known to allocate is where it should be, in all four values.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"
need python3 sqlite3 gcc

# name regex-of-who-allocates command...
program() {
	title=$1 regex=$2
	shift 2
	bare "$title-bare" "$@"
	bare_status=$status
	heap_profiled "$title" "$@"
	check_status "$title" "$bare_status"
	check_same_output "$title" "$title-bare"
	check_quiet "$title"
	check_heap "$work/$title.pb" "$work/$title.peak.pb"
	check_stack "$work/$title.pb" "$regex"
	"$pprof_check" --raw "$work/$title.pb" | awk -F '\t' '
		{ split($1, v, ","); all += v[2]; if ($3 ~ /\[incomplete\]$/) lost += v[2] }
		END { exit lost * 20 > all }' || fail "$title: more than 5 % of the bytes have incomplete stacks"
	command -v go >/dev/null || return 0
	for index in alloc_objects alloc_space inuse_objects inuse_space; do
		go tool pprof -sample_index="$index" -top "$work/$title.pb" >"$work/pprof.out" 2>&1 ||
			fail "$title: go tool pprof -sample_index=$index: $(tail -n 1 "$work/pprof.out")"
		grep -q '^Type: '"$index" "$work/pprof.out" || fail "$title: no type $index"
	done
}

# In use at the peak of FILE, at stacks that match, are at least BYTES.
peak_of() { # name regex bytes
	read -r _ _ _ bytes <<<"$(heap_values "$work/$1.peak.pb" "$2")"
	[ "$bytes" -ge "$3" ] || fail "$1: $bytes bytes at the peak, not $3"
}

# 40,000 strings of 600 bytes and the table that holds them; smaller ones are in Python's own arenas,
# which it maps.
# Sampled often enough that chance explains no more than a seventh.
export CPROF_HEAP_INTERVAL=64K
program python 'dict' python3 -c 'd = {i: "x" * (600 + i % 5) for i in range(40000)}; print(len(d))'
peak_of python . 18000000

# 100,000 rows of 200 bytes, in memory.
program sqlite 'sqlite3' sqlite3 :memory: 'create table t(a integer primary key, b text);
	with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
	insert into t select i, hex(zeroblob(100)) from n; select count(*), sum(length(b)) from t;'
peak_of sqlite . 15000000

unset CPROF_HEAP_INTERVAL

# A tree of processes: the compiler proper is one of the driver's children.
for i in $(seq 1 200); do
	echo "int f$i(int *a, int n) { int s = $i; for (int i = 0; i < n; i++)
		if (a[i] % $((i + 1)) == 0) s += a[i] * $i; else s ^= a[n - i - 1] << $((i % 13)); return s; }"
done >"$work/input.c"
# Every allocation: the driver makes too few for a sample.
CPROF_HEAP_INTERVAL=1 program gcc . gcc -O1 -c -o "$work/output.o" "$work/input.c"
compiler=
for file in "$work"/gcc.pb.*; do
	"$pprof_check" --main "$(gcc -print-prog-name=cc1)" "$file" 2>/dev/null && compiler=$file
done
[ -n "$compiler" ] || fail "no profile of cc1 among $(ls "$work"/gcc*)"
if [ -n "$compiler" ]; then
	check_heap "$compiler"
	read -r objects bytes _ <<<"$(heap_values "$compiler" .)"
	[ "$objects" -gt 10000 ] && [ "$bytes" -gt 5000000 ] || fail "cc1: $objects objects, $bytes bytes"
fi

# C++: allocations of the library through operator new.
cat >"$work/words.cc" <<'END'
#include <cstdio>
#include <map>
#include <string>
#include <vector>
int main()
{
	std::map<std::string, std::vector<int>> words;
	for (int i = 0; i < 100000; i++)
		words["a word that is long enough " + std::to_string(i % 5000)].push_back(i);
	printf("%zu\n", words.size());
}
END
if [ -n "${CXX:-}" ] && $CXX -O1 -g0 -o "$work/words" "$work/words.cc"; then
	CPROF_HEAP_INTERVAL=1 program words 'operator new.*;main;' "$work/words"
	read -r _ _ live _ <<<"$(heap_values "$work/words.pb" 'operator new.*;main;')"
	[ "$live" = 0 ] || fail "words: $live objects in use at the end"
	# A node and a string for each word, and its vector grown to 20.
	read -r objects _ <<<"$(heap_values "$work/words.pb" ';main;')"
	[ "$objects" -gt 130000 ] || fail "words: $objects objects"
fi
finish
