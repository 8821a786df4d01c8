#!/bin/bash
# Ground truth, the long version: shares of four functions at 99 Hz, then the total CPU time
# against getrusage at other rates and numbers of threads. Takes some minutes.
# Then programs that are hard to sample, with each CPU engine.
# ACCURACY_SECONDS: of each thread of the first; ACCURACY_TOTAL_SECONDS: CPU time of the others;
# ACCURACY_ENGINE_SECONDS: of each program with each engine.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"

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
				100 * (got - used) / used, n }' "$work/total.out" - | tee "$work/total.line"
		awk '{ print $5 + 0 }' "$work/total.line" | record accuracy-total +% hz=$hz threads=$threads
	done
done

$CC -O2 -o "$work/engines-host" "$srcdir/bench/engines-host.c" -lpthread || exit 1

# "estimate/truth of FUNCTION, of the total" for one engine. The total's truth is what the comments say that
# the program used.
hard() { # engine hz function program...
	engine=$1 hz=$2 function=$3
	shift 3
	CPROF_SYMBOLIZE=names CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=$hz profiled hard "$work/engines-host" "$@"
	"$pprof_check" --comments "$work/hard.pb" | grep -q "engine $engine " || { echo "- -"; return; }
	used=$("$pprof_check" --comments "$work/hard.pb" | sed -n 's/^cpu time: \([0-9.]*\) s used.*/\1/p')
	"$pprof_check" --raw "$work/hard.pb" | awk -F '\t' -v f="$function" -v used="$used" '
		NR == FNR { split($0, t, " "); truth[t[1]] = t[2]; next }
		{ split($1, v, ","); all += v[2] / 1e9
		  if (("" ";" $3 ";") ~ (";" f ";")) got += v[2] / 1e9 }
		END { printf "%.3f %.3f\n", got / truth[f], all / used }' "$work/hard.out" -
}

echo
echo "Programs that are hard to sample: estimate/truth of a function, and of the whole process's CPU time"
printf '%-34s %5s' program Hz
for engine in timer perf itimer; do printf ' %17s' "$engine"; done
echo
seconds=${ACCURACY_ENGINE_SECONDS:-10}
while read -r function label program; do
	for hz in 99 1000; do
		printf '%-34s %5d' "$(echo "$label" | tr _ ' ')" $hz
		for engine in timer perf itimer; do
			read -r of_function of_total <<<"$(hard $engine $hz "$function" ${program/SECONDS/$seconds})"
			printf ' %8s %8s' "$of_function" "$of_total"
			echo "$of_function" | record accuracy-hard times_the_truth program="$label" hz=$hz engine=$engine
		done
		echo
	done
done <<'END'
seventy 70/30,_4_ms_of_CPU_time:_70 turns SECONDS
thirty 70/30,_4_ms_of_CPU_time:_30 turns SECONDS
work 1_ms_bursts,_random_pauses bursts SECONDS
work between_ticks_(of_11_bursts_10) between SECONDS
across around_the_tick_(the_11th) between SECONDS
work threads_that_live_0.2_ms threads SECONDS 0.2
work threads_that_live_1_ms threads SECONDS 1
work threads_that_live_3_ms threads SECONDS 3
work 64_threads together SECONDS 64
END
