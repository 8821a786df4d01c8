# SPDX-License-Identifier: BSD-3-Clause
# CPROF_HEAP_BUDGET: the interval follows the program, so that so many samples come in a second, and sums stay right
# over all intervals, also those of blocks that are freed when another interval is in force.
. "$srcdir/tests/lib/heap.sh"
export CPROF_CHECKPOINT=0

CPROF_HEAP_BUDGET=2000 runs_well heap_profiled budget ./tests/e2e/heap-budget-host
check_valid_as heap "$work/budget.pb"
"$pprof_check" --comments "$work/budget.pb" >"$work/comments"
read -r smallest largest changes <<<"$(sed -n 's/.*budget 2000 samples a second, so far intervals from \([0-9]*\) to \([0-9]*\) bytes, changed \([0-9]*\) times.*/\1 \2 \3/p' "$work/comments")"
[ "${changes:-0}" -ge 2 ] || fail "the interval did not follow: $(grep heap: "$work/comments")"
[ "${largest:-0}" -gt 524288 ] || fail "the interval did not grow where gigabytes came: $largest"
echo "# intervals $smallest to $largest, $changes changes"

# Within five standard errors (one false alarm in a million) of what the program says. A sample stands for the interval
# at most, the largest of them for the roughest.
"$pprof_check" --raw "$work/budget.pb" | awk -F'\t' -v largest="$largest" -v out="$work/budget.out" "$awk_root"'
	{ split($1, v, ",")
	  site = $3 ~ /;fast;main|^fast;main/ ? "fast" : $3 ~ /keeps;main/ ? "keeps" : $3 ~ /slow;main/ ? "slow" : ""
	  space[site] += v[2]; if (site == "keeps") space["in_use"] += v[4] }
	END {
		while ((getline line < out) > 0) {
			split(line, w, " "); truth = w[2] + 0
			# The variance of a sum is at most the interval times the sum.
			error = 5 * root(largest * truth)
			if (space[w[1]] < truth - error || space[w[1]] > truth + error)
				print w[1] ": " space[w[1]] + 0 " bytes, not " truth " give or take " error
		}
	}' >"$work/wrong"
[ ! -s "$work/wrong" ] || fail "$(cat "$work/wrong")"

# A share of the CPU time: what the samples took, by the file's own account, is about that at most.
CPROF_HEAP_BUDGET=1% runs_well heap_profiled share ./tests/e2e/heap-budget-host
check_comment "$work/share.pb" 'budget 1% of the CPU time, so far intervals from [0-9]* to [0-9]* bytes, changed [0-9]* times'
CPROF_HEAP_BUDGET=101% heap_profiled much true
grep -q "^libcprof: .*CPROF_HEAP_BUDGET.*101%.*1% to 100% of the CPU time" "$work/much.err" || fail "101%: $(cat "$work/much.err")"

# Every allocation is recorded, whatever the budget.
CPROF_HEAP_INTERVAL=1 CPROF_HEAP_BUDGET=5 heap_profiled exact true
[ "$(grep -c '^libcprof: CPROF_HEAP_BUDGET=5 is for samples' "$work/exact.err")" = 1 ] || fail "exact: $(cat "$work/exact.err")"
finish
