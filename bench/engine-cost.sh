#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The costs of the CPU engines, compared: handlers, whole programs, switches between threads, threads.
# ENGINE_COST_PAIRS: rounds of each.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"

pairs=${ENGINE_COST_PAIRS:-15}
make -s tests/tools/pprof-check >&2 || exit 1
$CC -O2 -o "$work/engines-host" "$srcdir/bench/engines-host.c" -lpthread || exit 1
$CC -O2 -D_GNU_SOURCE -o "$work/run-cost" "$srcdir/bench/run-cost.c" || exit 1

once() { # engine hz command...: what it prints
	engine=$1 hz=$2
	shift 2
	case $engine in
	bare*) "$@" ;;
	*) env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/$engine.pb" CPROF_SYMBOLIZE=none \
		CPROF_CPU_ENGINE="$engine" CPUPROFILE_FREQUENCY="$hz" "$@" ;;
	esac
}

# Each round runs all of them, so that what else the machine does meets all alike.
rounds() { # label hz command...
	rounds_label=$1 rounds_hz=$2
	shift 2
	for i in $(seq "$pairs"); do
		for engine in bare bare-again timer perf; do
			printf '%s ' "$(once $engine "$rounds_hz" "$@")"
		done
		echo
	done >"$work/rounds"
	column=1
	for engine in bare bare-again timer perf; do
		awk -v c=$column '{ print ($c / $1 - 1) * 100 }' "$work/rounds" |
			record engine-cost +% program="${rounds_label// /_}" hz="$rounds_hz" engine=$engine
		column=$((column + 1))
	done
	awk -v label="$rounds_label" -v hz="$rounds_hz" '
		{ for (i = 1; i <= NF; i++) { v[i, NR] = $i; d[i, NR] = 100 * ($i - $1) / $1 } }
		function median(a, i,   n, j, k, t, s) {
			for (n = 1; n <= NR; n++) s[n] = a[i, n]
			for (j = 2; j <= NR; j++) for (k = j; k > 1 && s[k] < s[k - 1]; k--) { t = s[k]; s[k] = s[k - 1]; s[k - 1] = t }
			return s[int((NR + 1) / 2)]
		}
		END { printf "%-26s %5d %12.0f %+11.2f %+11.2f %+11.2f\n", label, hz, median(v, 1),
			median(d, 2), median(d, 3), median(d, 4) }' "$work/rounds"
}

echo "CPU time, median of $pairs rounds: ns without profiler, and per cent more beside it"
printf '%-26s %5s %12s %11s %11s %11s\n' program Hz bare bare-again timer perf
for hz in 99 1000; do
	rounds 'a loop, 1000 turns' $hz "$work/engines-host" loop 400000
	rounds 'a round trip, 2 switches' $hz "$work/engines-host" switches 100000
done
rounds 'thread of 0.2 ms' 99 bash -c 'TIMEFORMAT="%U %S"; { time "$0" threads 1 0.2 >/dev/null; } 2>&1 |
	awk "{ print (\$1 + \$2) / 5000 * 1e9 }"' "$work/engines-host"

echo
echo "Handlers, as the profile's comments have them: us a sample"
printf '%-8s %5s %9s %9s\n' engine Hz samples us
for hz in 99 1000 4000; do
	for engine in timer perf; do
		once $engine $hz "$work/engines-host" turns 6 >/dev/null
		"$pprof_check" --comments "$work/$engine.pb" | awk -v engine=$engine -v hz=$hz '
			/^samples:/ { n = $2 }
			/^cost: about/ { printf "%-8s %5d %9d %9.2f\n", engine, hz, n, 1000 * $3 / n }'
	done
done
