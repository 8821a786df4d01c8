# SPDX-License-Identifier: BSD-3-Clause
# Sampled sizes against the truth, over several runs. Input: the host's "# site size count size count"
# and "site truth...", then "run site values..." of each run. Prints a line a site and value:
# mean over truth, and how many standard errors the mean is off; exits 1 if more than LIMIT.
# The standard error is the sampling's own: n (1 - p) / p for n blocks of one size.
function p_of(size) { return 1 - exp(-size / interval) }
function spread(size, n, power,   p) { p = p_of(size); return n * size ^ power * (1 - p) / p }
BEGIN { split("alloc_objects alloc_space inuse_objects inuse_space", title, " ") }
$1 == "#" {
	for (v = 1; v <= 4; v++) {
		part = v > 2 ? 0.5 : 1
		power = v % 2 ? 0 : 2
		variance[$2, v] = part * spread($3, $4, power) + ($6 ? part * spread($5, $6, power) : 0)
	}
	next
}
$1 == "run" {
	for (v = 1; v <= 4; v++) sum[$2, v] += $(v + 2)
	runs[$2]++
	next
}
{
	order[++sites] = $1
	for (v = 1; v <= 4; v++) truth[$1, v] = $(v + 1)
}
END {
	for (s = 1; s <= sites; s++) for (v = 1; v <= 4; v++) {
		name = order[s]
		n = runs[name]
		if (!n) { print name ": never seen"; bad = 1; continue }
		mean = sum[name, v] / n
		# Whole objects are written: half of one is no error.
		error = sqrt(variance[name, v] / n) + 0.5
		off = (mean - truth[name, v]) / error
		worst = off < 0 ? -off : off
		printf "%-12s %-14s truth %11d  mean/truth %.4f  %+.2f standard errors\n", name, title[v], truth[name, v], mean / truth[name, v], off
		if (worst > limit) bad = 1
	}
	exit bad
}
