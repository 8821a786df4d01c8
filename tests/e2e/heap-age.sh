# SPDX-License-Identifier: BSD-3-Clause
# What is in use has the label age: a power of two seconds that the blocks have reached. cprof leaks shows it, and how
# far sampled values may be from the truth.
. "$srcdir/tests/lib/heap.sh"

begin=$(date +%s)
heap_profiled ages ./tests/e2e/heap-views-host ages
end=$(date +%s)
check_ended ages 0
check_heap "$work/ages.pb"
"$pprof_check" --raw "$work/ages.pb" >"$work/raw"
# The age in the file is no less than the power of two below what the program says, and no more than the test took.
awk -F '\t' -v whole=$((end - begin + 1)) '
	function power(s,  p) { if (s < 1) return 0; for (p = 1; 2 * p <= s; p *= 2); return p }
	NR == FNR { split($0, w, " "); least["site_" w[1]] = power(w[2]); next }
	match($3, /site_(old|new)/) {
		site = substr($3, RSTART, RLENGTH)
		split($1, v, ",")
		all[site] += v[4]
		if (!match($2, /age=[0-9]+/)) { unknown += v[4]; next }
		age = substr($2, RSTART + 4, RLENGTH - 4)
		with[site] += v[4]
		if (v[2]) print "a row of one age has allocations: " $0
		if (v[4] && (age > whole || (site == "site_old" && age < least[site]))) print site " is " age " seconds old"
		if (site == "site_new" && age > power(whole - 2)) print site " is as old as " age
	}
	END {
		if (unknown) print unknown " bytes without an age"
		for (s in all) { n++; if (all[s] != with[s] || all[s] < 150000000) print s ": " with[s] " of " all[s] " bytes have an age" }
		if (n != 2) print n " sites"
	}' "$work/ages.out" "$work/raw" >"$work/wrong"
[ -s "$work/wrong" ] && fail "ages: $(cat "$work/wrong" "$work/raw")"

# In exact mode no time is kept.
CPROF_HEAP_INTERVAL=1 heap_profiled exact ./tests/e2e/heap-sites leak 1000000
"$pprof_check" --raw "$work/exact.pb" | grep -q age= && fail "ages in exact mode"
if [ -x "$cprof" ]; then
	"$cprof" leaks "$work/ages.pb" >"$work/leaks" || fail "leaks fails"
	grep -Eq '^ +in use +error +share +blocks +each +age +where' "$work/leaks" &&
		grep -Eq '^ +[0-9.]+ MB +±[0-9.]+% .* [248]s +site_old <' "$work/leaks" || fail "leaks shows: $(cat "$work/leaks")"
	"$cprof" top "$work/ages.pb" | grep -Eq '^Sampled: total ±[0-9.]+% in 95 of 100 cases; values under [0-9.]+ [kM]B ±50% and more$' ||
		fail "top says: $("$cprof" top "$work/ages.pb")"
	"$cprof" top -tagfocus=age=2s: "$work/ages.pb" | grep -q site_old || fail "no site_old by age"
fi
finish
