# SPDX-License-Identifier: BSD-3-Clause
# fork in one thread while others are sampled, allocate, load modules, throw: no lock is copied in a
# state that the child can't get out of.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
module=$work/module.so
echo 'int needed;' | $CC -fPIC -shared -o "$module" -x c - || skip "no compiler"
count=200
[ "${CP_QUICK:-}" ] && count=50
ends_well bare bare ./tests/traps/fork_while_others_work/host 5 "$module"
for unwind in dwarf fp libunwind; do
	CPROF_UNWIND=$unwind CPUPROFILE_FREQUENCY=10000 runs_well profiled "$unwind" ./tests/traps/fork_while_others_work/host "$count" "$module"
	grep -q "^$count forks" "$work/$unwind.out" || harm "$unwind says $(cat "$work/$unwind.out")"
	check_valid "$work/$unwind.pb"
	find "$work" -name "$unwind.pb.*" | head -n 20 | while read -r file; do
		"$pprof_check" --raw --mode cpu "$file" | grep -qE 'throw_and_catch|allocate' && echo "$file holds its parent's samples"
	done >"$work/$unwind.wrong"
	[ -s "$work/$unwind.wrong" ] && fail "$(cat "$work/$unwind.wrong")"
done
finish
