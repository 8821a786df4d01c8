# SPDX-License-Identifier: BSD-3-Clause
# Adds up what the profiles of one program say of themselves. Input: a line "file MODE NAME" before the comments and the
# totals of each; output: "key value" lines. Percentages are of what the mode counts: expiries of the CPU clock, samples, allocations,
# seconds of waits. With compiles=yes, stacks that are cut short in generated code don't count.
function number_before(line, what,   part) {
	if (!match(line, "[0-9.]+( s)?( of delay)? " what)) return 0
	part = substr(line, RSTART, RLENGTH)
	return part + 0
}
function number_after(line, what) {
	if (!match(line, what " [0-9]+")) return 0
	line = substr(line, RSTART, RLENGTH)
	sub(/.* /, "", line)
	return line + 0
}
function percent(part, all) { return all > 0 ? 100 * part / all : 0 }

$1 == "file" { mode = $2; name = $3; files++; next }
/^samples: / && mode == "cpu" {
	samples["cpu"] += $2
	expiries += $5
	lost["cpu"] += number_before($0, "ring full") + number_before($0, "no memory") + number_before($0, "unknown thread") + number_before($0, "collector limit")
}
/^cpu time: / { cpu_used += $3; cpu_given += number_before($0, "in samples") }
/^samples: / && mode == "wall" {
	taken += $2
	lost["wall"] += number_before($0, "ring full") + number_before($0, "collector limit")
}
/^visits: / { visits = $2 }
# A process that ends before the pacer's first look has no wall profile: too short, not lost.
/^wall time: / && visits > 0 { wall_lost += number_before($0, "unsampled") }
/^wall nanoseconds / { wall_ns += $3 }
/^samples count / && mode == "wall" { samples["wall"] += $3 }
/^samples: / && mode == "heap" && name !~ /peak/ {
	samples["heap"] += $2
	lost["heap"] += number_before($0, "no memory") + number_before($0, "stacks at the collector's limit")
	unseen += number_before($0, "frees that were not seen")
}
/^waits: / { samples["lock"] += $2; without += 0; if (match($0, /[0-9.]+ s have no stack/)) lost_s += substr($0, RSTART) + 0 }
/^stacks lost: / { lost_s += number_before($0, "ring full") + number_before($0, "no memory") + number_before($0, "collector limit") }
/^calls: / {
	samples["io"] += $2
	io_lost_s += number_before($0, "ring full") + number_before($0, "no memory") + number_before($0, "collector limit")
}
/^delay nanoseconds / && name !~ /holders|wakers/ { delay[mode] += $3 / 1e9 }
# Lock holders have as many as there were unlocks, and wakers those of waits that the lock profile has, too.
/^stacks: / && name !~ /holders|wakers/ {
	truncated[mode] += $2
	if (match($0, /[0-9]+ incomplete/)) incomplete[mode] += substr($0, RSTART) + 0
}
/^incomplete stacks end in: / && compiles == "yes" { incomplete[mode] -= number_after($0, " anon") }
/^incomplete stacks end in: / { sub(/^incomplete stacks end in: /, ""); where[mode] = where[mode] name ": " $0 "; " }
/^symbols: / { named += $2; frames += $4 }

END {
	all["cpu"] = expiries; all["wall"] = samples["wall"]; all["heap"] = samples["heap"]; all["lock"] = samples["lock"]; all["io"] = samples["io"]
	part["cpu"] = percent(lost["cpu"], expiries)
	part["wall"] = percent(lost["wall"], taken) + percent(wall_lost * 1e9, wall_ns)
	part["heap"] = percent(lost["heap"], samples["heap"])
	part["lock"] = percent(lost_s, delay["lock"])
	part["io"] = percent(io_lost_s, delay["io"])
	n = split("cpu wall heap lock io", modes, " ")
	for (i = 1; i <= n; i++) {
		m = modes[i]
		cut = percent(incomplete[m], m == "heap" ? all[m] : samples[m])
		printf "%s.samples %d\n%s.lost %.4f\n%s.incomplete %.4f\n%s.truncated %d\n", m, samples[m], m, part[m], m, cut, m, truncated[m]
		if (where[m] != "") { gsub(/ /, "_", where[m]); print m ".where " where[m] }
		if (part[m] > worst) worst = part[m]
		if (cut > worst_cut) worst_cut = cut
	}
	printf "cpu.seconds %.2f\ncpu.given %.2f\nworst_lost %.3f\nworst_incomplete %.3f\nnamed %.1f\nfiles %d\nunseen %d\n", \
		cpu_used, cpu_given, worst, worst_cut, percent(named, frames), files, unseen
}
