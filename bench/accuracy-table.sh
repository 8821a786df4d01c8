# SPDX-License-Identifier: BSD-3-Clause
# Sourced by accuracy.sh: estimates against the truth, ACCURACY_RUNS runs of each program, one table for all modes. What a run
# measures are lines "program what estimate truth [error [deviation]]": ERROR is what the truth may be off, and DEVIATION the
# standard deviation of a run that the number of samples allows, both in the truth's unit.
runs=${ACCURACY_RUNS:-30}

# For each program and value: mean of estimate/truth, its standard error (of the truth, too), by how many of them the mean is
# off, the standard deviation of a run, and the one that is allowed. Marked is a mean more than 3 standard errors off, and a
# deviation of more than 1.5 times the allowed one.
tabulate() {
	awk "$awk_root"'
		$4 > 0 {
			row = $1 " " $2
			if (!n[row]++) order[++rows] = row
			x = $3 / $4; sum[row] += x; squares[row] += x * x; error[row] += $5 / $4; allowed[row] += $6 / $4
		}
		END {
			for (r = 1; r <= rows; r++) {
				row = order[r]; split(row, name, " ")
				mean = sum[row] / n[row]
				spread = squares[row] / n[row] - mean * mean
				spread = n[row] > 1 && spread > 1e-14 ? root(spread * n[row] / (n[row] - 1)) : 0
				se = root(spread * spread / n[row] + error[row] / n[row] * error[row] / n[row])
				off = se > 1e-7 ? (mean - 1) / se : (mean > 1 ? mean - 1 : 1 - mean) < 1e-6 ? 0 : 99
				may = allowed[row] / n[row]
				mark = off > 3 || off < -3 ? " <- mean" : ""
				if (may < 1e-4) may = 0
				if (may && spread > 1.5 * may) mark = mark " <- deviation"
				marked += mark != ""
				printf "%-12s %-28s %4d %8.4f %8.4f %+6.1f %8.4f %8s%s\n", name[1], name[2], n[row], mean, se, off, spread,
					(may ? sprintf("%.4f", may) : "-"), mark
			}
			printf "%d of %d rows are marked; by chance some %.1f\n", marked, rows, rows * 0.003
		}'
}

# ---- CPU time: a thread in step with the sampler, threads shorter than a tick, bursts ----
cpu_run() { # number
	hard_run "$1" timer 99 turns 2 10.101 | awk "$awk_root"'
		{ got[$1] = $2; truth[$1] = $3 }
		END { for (f in got) { p = truth[f] / truth["total"]; print "cycle", f, got[f], truth[f], 0, truth[f] * root((p < 1 ? 1 - p : 0) / p / (99 * 2)) } }'
	for ms in 0.2 1 3; do
		hard_run "$1" timer 99 threads 0.5 $ms | with_edges threads,$ms
	done
	hard_run "$1" timer 99 bursts 0.5 | with_edges bursts
}

# What threads do beside their work, begin, sleep and end, is so short that the kernel's tick never finds it, and the samples
# show it as work: that is how far the truth of work may be off. The total is exact.
with_edges() { # program
	awk -v program="$1" '{ got[$1] = $2; truth[$1] = $3 }
		END {
			print program, "work", got["work"], truth["work"], truth["total"] - truth["work"]
			print program, "total", got["total"], truth["total"]
		}'
}

# ---- the wall clock: bench/wall-truth.c. All threads are looked at together, a hundred times a second; they may all wait
# then, or none ----
wall_run() { # what program
	local seconds=2
	[ "$2" != fsync ] || seconds=1
	rm -f "$work/w.pb"
	(cd "$work" && env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" CPROF_SYMBOLIZE=names ./wall-truth "$2" $seconds) >"$work/truth" || return
	[ -s "$work/w.pb" ] || { echo "$1: no profile" >&2; return; }
	"$pprof_check" --raw "$work/w.pb" | awk -F '\t' -v program="$1" -v looks=$((seconds * 100)) "$awk_root"'
		NR == FNR { split($0, t, " "); truth[t[1]] = t[2]; error[t[1]] = t[3]; next }
		(";" $3 ";") ~ /;(main|_start);/ { next }
		{ split($1, v, ",")
		  for (what in truth)
			if ((";" $3 ";") ~ (";" what ";") || $2 ~ ("state=" what "(,|$)")) got[what] += v[2] }
		END {
			for (what in truth) all += what ~ /^(running|runnable|waiting)$/ ? truth[what] : 0
			for (what in truth) print program, what, got[what] + 0, truth[what], error[what],
				(what ~ /_/ ? truth[what] * root((all > truth[what] ? all / truth[what] - 1 : 0) / looks) : 0)
		}' "$work/truth" -
}

wall_runs() { # what programs
	for program in $2; do
		for _ in $(seq "$runs"); do wall_run "$program$1" "$program"; done
	done
}

wall_all() {
	$CC -O2 -g -o "$work/wall-truth" "$srcdir/bench/wall-truth.c" -lpthread || exit 1
	wall_runs "" "queue fsync mutex rwlock short"
	# The same beside as many busy programs as there are processors.
	for _ in $(seq "$(nproc)"); do
		while :; do :; done &
		owns $!
	done
	wall_runs +load "queue mutex"
	for child in $children; do kill "${child%:*}"; done
}

# ---- input and output: bench/io-accuracy.c. Only long delays are compared: the program's own clock also sees what it costs to
# record a call. At most root(v V / 64) is the deviation of a part v of V (docs/accuracy.md) ----
io_run() { # program
	CPROF_CHECKPOINT=0 io_profiled io "$work/io-accuracy" "$1"
	check_io_rows_sum "$work/io.pb"
	while read -r function op truth; do
		echo "$function $op $truth $(io_values "$work/io.pb" "(^|;)$function[;.]" "op=$op")"
	done <"$work/io.out" | awk -v program="io,$1" "$awk_root"'
		{ line[NR] = $0; for (i = 3; i <= 6; i++) { all[$2, i] += $i; most[$2, i] = $i > most[$2, i] ? $i : most[$2, i] } }
		END {
			split("calls delay bytes errors", type, " ")
			for (l = 1; l <= NR; l++) {
				split(line[l], v, " ")
				for (i = 3; i <= 6; i++)
					if (v[i] && (i != 4 || program v[1] == "io,bimodalwaits"))
						print program, v[1] "," type[i - 2], v[i + 4], v[i], 0, (v[i] < all[v[2], i] ? root(v[i] * all[v[2], i] / 64) : 0)
			}
		}'
}

io_all() {
	. "$srcdir/tests/lib/io.sh"
	$CC -O2 -g -pthread -D_GNU_SOURCE -o "$work/io-accuracy" "$srcdir/bench/io-accuracy.c" || exit 1
	for program in short errors bimodal sizes mixed threads crowd pipes; do
		for _ in $(seq "$runs"); do io_run $program; done
	done
}

# ---- the heap: sites of 16 bytes to 64 MiB, one that mixes small and large, one with a stack for each block ----
heap_all() {
	. "$srcdir/tests/lib/heap.sh"
	make -s tests/e2e/heap-sites >&2 || exit 1
	for allocator in $(allocators); do
		use_allocator "$allocator"
		for run in $(seq "$runs"); do
			CPROF_CHECKPOINT=0 heap_profiled sites ./tests/e2e/heap-sites sampled
			[ "$run" != 1 ] || cat "$work/sites.out"
			heap_sites "$work/sites.pb"
		done | awk -v interval=524288 -v lines="heap,${allocator%%.*}" -f "$srcdir/tests/lib/heap-error.awk"
	done
}

# ---- locks: tests/e2e/lock-host.c. The truth is between what the program measures around its waits, and what lies within ----
between() { # program what estimate around within
	awk -v program="$1" -v what="$2" -v got="$3" -v around="$4" -v within="$5" 'BEGIN {
		print program, what, got, (around + within) / 2, (around - within) / 2 }'
}

lock_run() {
	local kind around within waits
	lock_profiled kinds ./tests/e2e/lock-host
	while read -r kind around within; do
		between lock "$kind" "$(lock_ns "$work/kinds.pb" "(^|;)wait_$kind;")" "$around" "$within"
	done <"$work/kinds.out"
	lock_profiled turns ./tests/e2e/lock-host turns
	read -r waits around within <"$work/turns.out"
	read -r got_waits got <<<"$(lock_values "$work/turns.pb" ';wait_turn;')"
	echo "lock turns,waits $got_waits $waits"
	between lock turns,delay "$got" "$around" "$within"
	lock_profiled rare ./tests/e2e/lock-host rare
	read -r around within <"$work/rare.out"
	echo "holders rare_holder $(lock_ns "$work/rare.holders.pb" '^pthread_mutex_unlock;rare_holder;hold_often;') $within"
	echo "holders all/waits $(lock_ns "$work/rare.holders.pb" .) $(lock_ns "$work/rare.pb" .)"
}

lock_all() {
	. "$srcdir/tests/lib/lock.sh"
	make -s tests/e2e/lock-host >&2 || exit 1
	with_inner
	for _ in $(seq "$runs"); do lock_run; done
}

# ---- 20,000 spans of 2 us ----
spans_all() {
	make -s tests/e2e/spans-host >&2 || exit 1
	for _ in $(seq "$runs"); do
		env LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/spans.pb" ./tests/e2e/spans-host short | awk '
			{ v[$1] = $2; bytes = $4 }
			END { print "spans cpu", v["stats"], v["cpu"]; print "spans bytes", bytes, v["bytes"] }'
	done
}

# ---- windows: a test says whether those of each mode sum to the run ----
windows_all() {
	make -s one T=control-sums >"$work/windows.log" 2>&1
	echo "windows all-sums-and-modes $((1 - ($? != 0))) 1"
}

say_table() { # parts
	make -s tests/tools/pprof-check >&2 || exit 1
	$CC -O2 -o "$work/engines-host" "$srcdir/bench/engines-host.c" -lpthread || exit 1
	for part in $1; do
		case $part in
		cpu) for run in $(seq "$runs"); do cpu_run "$run"; done ;;
		*) "${part}_all" ;;
		esac >"$work/lines.$part"
		awk '$4 > 0 { print $1, $2, $3 / $4 }' "$work/lines.$part" | sort >"$work/ratios"
		while read -r program what; do
			awk -v p="$program" -v w="$what" '$1 == p && $2 == w { print $3 }' "$work/ratios" |
				record accuracy-table times_the_truth program="$program" what="$what"
		done <<<"$(awk '{ print $1, $2 }' "$work/ratios" | uniq)"
	done
	printf '%-12s %-28s %4s %8s %8s %6s %8s %8s\n' program what runs mean error off deviation allowed
	for part in $1; do cat "$work/lines.$part"; done | tabulate
}
