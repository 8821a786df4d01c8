#!/bin/bash
# Ground truth, the long version: shares of four functions at 99 Hz, then the total CPU time
# against getrusage at other rates and numbers of threads. Takes some minutes.
# ACCURACY_SECONDS: of each thread of the first; ACCURACY_TOTAL_SECONDS: CPU time of the others.
. "$srcdir/tests/lib/e2e.sh"

make -s tests/e2e/accuracy-host tests/tools/pprof-check >&2 || exit 1

shares() { # seconds frequency turn-ms
	CPUPROFILE_FREQUENCY=$2 profiled shares ./tests/e2e/accuracy-host "$1" 2 "$3"
	samples=$("$pprof_check" --total "$work/shares.pb" | awk '$1 == "samples" { print $3 }')
	"$pprof_check" --top 0 "$work/shares.pb" | awk -v turn="$3" -v n="$samples" '
		NR == FNR { truth[$1] = $2; next }
		$5 ~ /^takes_/ { got[$5] = $1; sum += $1 }
		END {
			for (f in truth)
				if (f != "total")
					printf "%8d %-10s %9.2f %9.2f %+9.2f %9.2f\n", turn, f, truth[f],
						100 * got[f] / sum, 100 * got[f] / sum - truth[f],
						sqrt(truth[f] * (100 - truth[f]) / n)
		}' "$work/shares.out" - | sort -k3nr
}

# sigma: standard deviation of so many independent samples, which is what turns far
# shorter than the period give whatever the profiler.
seconds=$((${ACCURACY_SECONDS:-20} * 2))
echo "Shares in per cent at 99 Hz, two threads, $seconds s of CPU time together (two runs each)"
printf '%8s %-10s %9s %9s %9s %9s\n' turn/ms function true profile error sigma
for turn in 1 1 20 20 200 200; do shares $seconds 99 $turn; done

echo
echo "Total CPU time, profile against getrusage: error in per cent (user + system of the program)"
printf '%8s %8s %10s %10s %8s %9s\n' Hz threads getrusage profile error% samples
for hz in 10 99 1000 4000; do
	for threads in 1 2 16 64; do
		seconds=${ACCURACY_TOTAL_SECONDS:-6}
		CPUPROFILE_FREQUENCY=$hz profiled total ./tests/e2e/accuracy-host "$seconds" $threads
		"$pprof_check" --total "$work/total.pb" | awk -v hz=$hz -v threads=$threads '
			NR == FNR { if ($1 == "total") used = $2; next }
			$1 == "samples" { n = $3 }
			$1 == "cpu" { got = $3 / 1e9 }
			END { printf "%8d %8d %10.3f %10.3f %+8.2f %9d\n", hz, threads, used, got,
				100 * (got - used) / used, n }' "$work/total.out" -
	done
done
