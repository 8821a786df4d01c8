# SPDX-License-Identifier: BSD-3-Clause
# Ground truth in short: shares within the error of random samples of these weights (4.5 standard
# deviations: one failure in 30,000 runs), the total within what the clock's grain allows.
# bench/accuracy.sh is the long version, with a table.
. "$srcdir/tests/lib/e2e.sh"

# A thread's sum is right to within a period, its first expiry being random in the period. Not in any
# sample: main's last tick of up to 10 ms, and what threads and the collector take for themselves.
run() { # name frequency threads unwinder
	CPUPROFILE_FREQUENCY=$2 CPROF_UNWIND=$4 profiles_well profiled "$1" ./tests/e2e/accuracy-host 2 "$3"
	total=$("$pprof_check" --total "$work/$1.pb" | sed -n 's/^cpu nanoseconds //p')
	"$pprof_check" --top 0 "$work/$1.pb" | awk -v name="$1" -v total="$total" -v hz="$2" \
		-v threads="$3" -v weights="$(weights "$work/$1.pb")" "$awk_root"'
		function abs(x) { return x < 0 ? -x : x }
		NR == FNR { truth[$1] = $2; next }
		$5 in truth && $5 ~ /^takes_/ { got[$5] = $1; sum += $1 }
		END {
			split(weights, w, " ")
			for (f in truth) {
				if (f == "total")
					continue
				p = truth[f] / 100
				bound = 100 * 4.5 * root(p * (1 - p) * w[2]) / w[1]
				error = 100 * got[f] / sum - truth[f]
				printf "%s: %s %.2f %%, error %+.2f, bound %.2f\n", name, f, truth[f], error, bound
				if (abs(error) > bound)
					bad = 1
			}
			grain = 4.5 / hz * root(threads) / 2 + 1 / hz + 0.030 + threads * 0.0006
			error = total / 1e9 - truth["total"]
			printf "%s: total %.3f s, error %+.3f, bound %.3f\n", name, truth["total"], error, grain
			if (abs(error) > grain)
				bad = 1
			exit bad
		}' "$work/$1.out" - || fail "$1: see above"
}

run default 99 2 auto
run fast 1000 2 dwarf
run fp 250 1 fp
run libunwind 250 4 libunwind
# Threads whose last tick is a good part of their time.
run threads 1000 64 dwarf
finish
