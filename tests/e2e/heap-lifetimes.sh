# SPDX-License-Identifier: BSD-3-Clause
# How long blocks lived, where they were freed and by which thread, against what the program itself knows; blocks that
# are still in use are counted beside them.
. "$srcdir/tests/lib/heap.sh"

CPROF_HEAP_VIEWS=lifetimes CPROF_HEAP_INTERVAL=1 runs_well heap_profiled lives ./tests/e2e/heap-views-host lifetimes
file=$work/lives.lifetimes.pb
check_valid_as lifetimes "$file"
"$pprof_check" --raw "$file" >"$work/raw"
awk -F '\t' '
	function log2(n,  p) { for (p = 0; n >= 2; n /= 2) p++; return p }
	NR == FNR { split($0, w, " "); least[w[1], w[2]] = w[3]; most[w[1], w[2]] = w[4]; next }
	match($3, /site_(exponential|bimodal|handed_over|kept_alive)/) {
		site = substr($3, RSTART, RLENGTH)
		split($1, v, ",")
		alive[site] += v[1]
		freed[site] += v[3]
		if (!match($2, /lifetime=[0-9]+/)) { print "no lifetime: " $0; next }
		lived[site, log2(substr($2, RSTART + 9, RLENGTH - 9) + 0)] += v[3]
		by = $2 ~ /freed_by=other thread/ ? "other" : $2 ~ /freed_by=same thread/ ? "same" : "none"
		how[site, by] += v[3] + v[1]
		if (v[3] && $3 !~ /\[freed by\]/) print "a free without its stack: " $0
		if (v[3] && site == "site_handed_over" && $3 !~ /take_over/) print "not freed in take_over: " $0
	}
	END {
		for (k in most) {
			n = lived[k] + 0
			if (n < least[k] || n > most[k]) { split(k, s, SUBSEP); print s[1] ": " n " blocks lived 2^" s[2] " ns, not " least[k] " to " most[k] }
		}
		if (freed["site_exponential"] != 1000 || freed["site_bimodal"] != 1100 || freed["site_handed_over"] != 500)
			print "freed: " freed["site_exponential"] ", " freed["site_bimodal"] ", " freed["site_handed_over"]
		if (alive["site_kept_alive"] != 50 || freed["site_kept_alive"]) print "alive: " alive["site_kept_alive"]
		if (how["site_exponential", "same"] != 1000 || how["site_bimodal", "same"] != 1100 || how["site_handed_over", "other"] != 500)
			print "by whom: " how["site_exponential", "same"] ", " how["site_bimodal", "same"] ", " how["site_handed_over", "other"]
	}' "$work/lives.out" "$work/raw" >"$work/wrong"
[ -s "$work/wrong" ] && fail "lifetimes: $(cat "$work/wrong" "$work/raw")"

# Sampled, the sums are those of all blocks, within five standard errors.
CPROF_HEAP_VIEWS=lifetimes heap_profiled sampled ./tests/e2e/heap-sites leak 400000000
check_valid_as lifetimes "$work/sampled.lifetimes.pb"
"$pprof_check" --raw "$work/sampled.lifetimes.pb" | awk -F '\t' '
	/planted_leak/ { split($1, v, ","); alive += v[2] }
	END { if (alive < 320000000 || alive > 480000000) print alive }' >"$work/wrong"
[ -s "$work/wrong" ] && fail "sampled: $(cat "$work/wrong") bytes of the leak are alive, not 400000000"
heap_profiled without ./tests/e2e/heap-sites leak 1000000
[ ! -e "$work/without.lifetimes.pb" ] || fail "lifetimes without a wish"
finish
