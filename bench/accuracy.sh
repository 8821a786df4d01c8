#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ground truth. ACCURACY_PARTS: which of the parts.
#
# shares, totals: shares of four functions at 99 Hz, then the total CPU time against getrusage at other rates and numbers
# of threads. hard: programs that are hard to sample, with each CPU engine. Together some minutes.
# ACCURACY_SECONDS: of each thread of the first; ACCURACY_TOTAL_SECONDS: CPU time of the others;
# ACCURACY_ENGINE_SECONDS: of each program with each engine, in ACCURACY_ENGINE_RUNS runs; ACCURACY_ENGINES: which engines;
# ACCURACY_PROGRAMS: only those whose beginning, such as "bursts" or "threads,0.2", is among these words.
#
# cpu, wall, io, heap, lock, spans, windows: many runs of each mode, one table for all (bench/accuracy-table.sh). These are
# the parts if ACCURACY_RUNS, the runs of each program, is set.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
. "$srcdir/bench/accuracy-table.sh"

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

all_shares() {
	# sigma: standard deviation of so many independent samples, which is what turns far
	# shorter than the period give whatever the profiler.
	seconds=$((${ACCURACY_SECONDS:-20} * 2))
	echo "Shares in per cent at 99 Hz, two threads, $seconds s of CPU time together (two runs each)"
	printf '%8s %-10s %9s %9s %9s %9s\n' turn/ms function true profile error sigma
	for turn in 1 1 20 20 200 200; do shares $seconds 99 $turn; done
}

totals() {
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
}

# ---- each engine ----

# The environment of a program.
task_clock() { # engine
	[ "$1" != perf ] || echo TASK_CLOCK=1
}

# One run of a program: "FUNCTION estimate truth task-clock" for its functions, then "total estimate truth" of the whole
# process: the latter's truth is what the comments say that the program used. The task clock is the kernel's other one,
# which the perf engine samples.
hard_run() { # number engine hz program...
	name=hard.$3.$1 engine=$2
	export CPUPROFILE_FREQUENCY=$3
	shift 3
	CPROF_SYMBOLIZE=names CPROF_CPU_ENGINE=$engine \
		profiled "$name" $(task_clock "$engine") "$work/engines-host" "$@"
	"$pprof_check" --comments "$work/$name.pb" >"$work/$name.comments"
	grep -q "engine $engine " "$work/$name.comments" || return
	used=$(sed -n 's/^cpu time: \([0-9.]*\) s used.*/\1/p' "$work/$name.comments")
	"$pprof_check" --raw "$work/$name.pb" | awk -F '\t' -v used="$used" '
		NR == FNR { split($0, t, " "); truth[t[1]] = t[2]; task[t[1]] = t[3]; next }
		{ split($1, v, ","); all += v[2] / 1e9
		  for (f in truth)
			if (("" ";" $3 ";") ~ (";" f ";")) got[f] += v[2] / 1e9 }
		END {
			for (f in truth)
				print f, got[f] + 0, truth[f], task[f]
			print "total", all, used
		}' "$work/$name.out" -
}

# Ticks that the machine gave and that its host took, on the processors we may use.
ticks() {
	awk -v allowed="$(taskset -pc $BASHPID 2>/dev/null | sed 's/.*: //')" '
		BEGIN {
			for (n = split(allowed, part, ","); n; n--) {
				m = split(part[n], ends, "-")
				for (c = ends[1]; c <= ends[m]; c++) mine["cpu" c]
			}
		}
		allowed ? $1 in mine : $1 == "cpu" { given += $2 + $3 + $4 + $7 + $8; stolen += $9 }
		END { print given, stolen + 0 }' /proc/stat
}

# All runs of a program with one engine at one rate.
hard_runs() { # engine hz program...
	local before
	before=$(ticks)
	for run in $(seq "$runs"); do hard_run "$run" "$@"; done >"$work/hard.$2.$1"
	echo "$before $(ticks)" | awk '{ printf "%.1f\n", ($4 - $2) * 100 / ($3 - $1 + $4 - $2) }' >"$work/stolen.$2.$1"
}

# "estimate/truth  standard error  estimate/task clock" of a function; the error is by how much the runs differ.
ratio() { # function file
	awk -v f="$1" '$1 == f { got += $2; truth += $3; task += $4; v[++n] = $2 / $3; sum += v[n] }
		END {
			if (!n) { print "-", "-", "-"; exit }
			for (i = 1; i <= n; i++)
				square += (v[i] - sum / n) ^ 2
			printf "%.3f %s %s\n", got / truth, (n > 1 ? sprintf("%.3f", sqrt(square / (n - 1) / n)) : "-"),
				(task ? sprintf("%.3f", got / task) : "-")
		}' "$2"
}

hard_line() { # function label hz
	printf '%-34s %5d' "$(echo "$2" | tr _ ' ')" "$3"
	for engine in $engines; do
		read -r of_function error of_task <<<"$(ratio "$1" "$work/hard.$3.$engine")"
		read -r of_total _ _ <<<"$(ratio total "$work/hard.$3.$engine")"
		printf ' %8s ±%-6s %7s %7s %5s%%' "$of_function" "$error" "$of_task" "$of_total" "$(cat "$work/stolen.$3.$engine")"
		awk -v f="$1" '$1 == f { print $2 / $3 }' "$work/hard.$3.$engine" |
			record accuracy-hard times_the_truth program="$2" hz="$3" engine="$engine"
	done
	echo
}

is_wanted() { # program
	[ -z "${ACCURACY_PROGRAMS:-}" ] && return
	for wanted in $ACCURACY_PROGRAMS; do
		case $(echo "$1" | awk -F , '{ print $1 ($3 ? "," $3 : "") }') in "$wanted"*) return ;; esac
	done
	return 1
}

# Both rates at the same time, if there are enough processors, but on no common processor: work between ticks stays
# where it is.
hard() { # program functions-and-labels
	is_wanted "$1" || return 0
	for engine in $engines; do
		if [ "$(nproc)" -ge 4 ] && has taskset; then
			(taskset -pc 0,1 $BASHPID >/dev/null && hard_runs "$engine" 99 ${1//,/ }) &
			(taskset -pc 2,3 $BASHPID >/dev/null && hard_runs "$engine" 1000 ${1//,/ }) &
			wait
		else
			for hz in 99 1000; do hard_runs "$engine" $hz ${1//,/ }; done
		fi
	done
	for of in ${2//;/ }; do
		for hz in 99 1000; do hard_line "${of%%=*}" "${of#*=}" $hz; done
	done
}

all_hard() {
	$CC -O2 -o "$work/engines-host" "$srcdir/bench/engines-host.c" -lpthread || exit 1
	engines=${ACCURACY_ENGINES:-timer perf}
	runs=${ACCURACY_ENGINE_RUNS:-4}
	seconds=$(awk -v s="${ACCURACY_ENGINE_SECONDS:-10}" -v n="$runs" 'BEGIN { print s / n }')
	echo
	echo "Programs that are hard to sample: estimate/truth of a function, its standard error by $runs runs of $seconds s, the"
	echo "estimate over what a counting perf event says (engine perf only), and estimate/truth of the whole process's CPU time."
	echo "Then what a virtual machine's host took of these processors meanwhile."
	printf '%-34s %5s' program Hz
	for engine in $engines; do printf ' %39s' "$engine"; done
	echo
	hard turns,$seconds 'seventy=70/30,_4_ms_of_CPU_time:_70;thirty=70/30,_4_ms_of_CPU_time:_30'
	hard turns,$seconds,10.101 'seventy=70/30,_in_step_with_99_Hz:_70;thirty=70/30,_in_step_with_99_Hz:_30'
	hard bursts,$seconds 'work=1_ms_bursts,_random_pauses'
	hard between,$seconds 'work=between_ticks_(of_11_bursts_10);across=around_the_tick_(the_11th)'
	hard threads,$seconds,0.2 'work=threads_that_live_0.2_ms'
	hard threads,$seconds,1 'work=threads_that_live_1_ms'
	hard threads,$seconds,3 'work=threads_that_live_3_ms'
	hard together,$seconds,64 'work=64_threads'
}

parts=${ACCURACY_RUNS:+cpu wall io heap lock spans windows} table=
for part in ${ACCURACY_PARTS:-${parts:-shares totals hard}}; do
	case $part in
	shares) all_shares ;;
	totals) totals ;;
	hard) all_hard ;;
	cpu | wall | io | heap | lock | spans | windows) table="$table $part" ;;
	*) echo "ACCURACY_PARTS: shares, totals, hard, cpu, wall, io, heap, lock, spans, windows" >&2; exit 2 ;;
	esac
done
[ ! "$table" ] || say_table "$table"
