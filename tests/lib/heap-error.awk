# SPDX-License-Identifier: BSD-3-Clause
# Sampled sizes against the truth, over several runs. Input: the host's "# site size count size count"
# and "site truth...", then "run site values..." of each run. Prints a line a site and value:
# mean over truth, and how many standard errors the mean is off; exits 1 if more than LIMIT.
# With LINES, a word, it prints a line "LINES site,value estimate truth error deviation" for each run (bench/accuracy-table.sh).
# The standard error is the sampling's own: n (1 - p) / p for n blocks of one size.
# busybox's awk may be built without exp, sqrt and ^.
function decay(x,   half) { if (x < 1e-4) return 1 - x + x * x / 2; half = decay(x / 2); return half * half }
function root(x,   r, i) { for (r = x > 1 ? x : 1; i++ < 60;) r = (r + x / r) / 2; return r }
function spread(size, n, factor,   p) { p = 1 - decay(size / interval); return n * factor * (1 - p) / p }
BEGIN { split("alloc_objects alloc_space inuse_objects inuse_space", title, " ") }
$1 == "#" {
	for (v = 1; v <= 4; v++) {
		part = v > 2 ? 0.5 : 1
		variance[$2, v] = part * spread($3, $4, v % 2 ? 1 : $3 * $3) + ($6 ? part * spread($5, $6, v % 2 ? 1 : $5 * $5) : 0)
	}
	next
}
$1 == "run" {
	for (v = 1; v <= 4; v++) {
		sum[$2, v] += $(v + 2)
		if (lines)
			print lines, $2 "," title[v], $(v + 2), truth[$2, v], 0.5, root(variance[$2, v])
	}
	runs[$2]++
	next
}
{
	order[++sites] = $1
	for (v = 1; v <= 4; v++) truth[$1, v] = $(v + 1)
}
END {
	if (lines)
		exit
	for (s = 1; s <= sites; s++) for (v = 1; v <= 4; v++) {
		name = order[s]
		n = runs[name]
		if (!n) { print name ": never seen"; bad = 1; continue }
		mean = sum[name, v] / n
		# Whole objects are written: half of one is no error.
		error = root(variance[name, v] / n) + 0.5
		off = (mean - truth[name, v]) / error
		worst = off < 0 ? -off : off
		printf "%-12s %-14s truth %11d  mean/truth %.4f  %+.2f standard errors\n", name, title[v], truth[name, v], mean / truth[name, v], off
		if (worst > limit) bad = 1
	}
	exit bad
}
