#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of the CPU mode: one sample, whole programs, start-up, memory. Takes some minutes. OVERHEAD_PAIRS,
# OVERHEAD_STARTS: rounds of the second and third table; 0 pairs: not the second (bench/programs.sh has more).
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"

pairs=${OVERHEAD_PAIRS:-11}
starts=${OVERHEAD_STARTS:-500}
make -s tests/e2e/accuracy-host tests/tools/pprof-check >&2 || exit 1
for tool in sample-cost run-cost; do
	$CC -O2 -D_GNU_SOURCE -o "$work/$tool" "$srcdir/bench/$tool.c" || exit 1
done
$CC -O2 -D_GNU_SOURCE -fno-omit-frame-pointer -o "$work/sample-cost-fp" "$srcdir/bench/sample-cost.c"

gperftools=
for lib in /usr/lib/*/libprofiler.so /usr/lib/*/libprofiler.so.0 /usr/local/lib/libprofiler.so; do
	[ -e "$lib" ] && { gperftools=$lib; break; }
done

# ---- one sample ----
sample() { # label program depth warm|cold environment...
	label=$1 program=$2 depth=$3 caches=$4
	# To empty the caches takes a thousand times as long as a sample.
	times=2000
	[ "$caches" = warm ] || times=400
	shift 4
	figures=$(for run in 1 2 3; do
		env CPUPROFILE="$work/sample.pb" CPUPROFILE_FREQUENCY=1 "$@" \
			"$work/$program" "$depth" $times "$caches" 2>>"$work/sample.err"
	done | awk '{ print $1 - $2, $2 }' | sort -n | tee "$work/figures" | sed -n 2p)
	awk '{ print $1 / 1000 }' "$work/figures" | record sample us by="${label// /_}" frames="$depth" caches="$caches"
	awk '{ print $1 * 99 / 1e7 }' "$work/figures" | record sample-share % by="${label// /_}" frames="$depth" caches="$caches"
	taken=$("$pprof_check" --total "$work/sample.pb" 2>/dev/null | awk '$1 == "samples" { print $3 }')
	awk -v label="$label" -v depth="$depth" -v caches="$caches" -v f="$figures" -v taken="${taken:--}" '
		BEGIN { split(f, v, " ")
			printf "%-24s %6d %6s %10.2f %10.3f %9s\n", label, depth, caches, v[1] / 1000, v[1] * 99 / 1e7, taken }'
}

echo "One sample, signal delivery to return; median of three runs of 2000 (cold: 400)"
printf '%-24s %6s %6s %10s %10s %9s\n' profiler depth caches us '% @ 99 Hz' recorded
for depth in 8 30; do
	for caches in warm cold; do
		for unwinder in dwarf fp libunwind; do
			program=sample-cost
			[ $unwinder = fp ] && program=sample-cost-fp
			sample "libcprof $unwinder" $program $depth $caches LD_PRELOAD="$CP_LIBRARY" CPROF_UNWIND=$unwinder
		done
		[ -z "$gperftools" ] || sample gperftools sample-cost $depth $caches LD_PRELOAD="$gperftools"
	done
done

# ---- whole programs ----
seq 1 3000000 >"$work/data"
c_source 80 >"$work/input.c"
python_script 40000 >"$work/script.py"
python=/usr/bin/python3
[ -x $python ] || python=python3

once() { # variant command...: CPU us
	variant=$1
	shift
	case $variant in
	bare*) "$work/run-cost" 1 "$@" ;;
	libcprof) "$work/run-cost" 1 LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/o.pb" "$@" ;;
	gperftools) "$work/run-cost" 1 LD_PRELOAD="$gperftools" CPUPROFILE="$work/g.prof" "$@" ;;
	esac | awk '{ print $1 }'
}

# Each variant against the bare run beside it, in changing order.
compare() { # name command...
	compare_name=$1
	shift
	for variant in bare-again libcprof ${gperftools:+gperftools}; do
		for i in $(seq "$pairs"); do
			if [ $((i % 2)) = 0 ]; then
				a=$(once bare "$@") b=$(once $variant "$@")
			else
				b=$(once $variant "$@") a=$(once bare "$@")
			fi
			echo "$a $b"
		done | awk '{ printf "%.4f\n", 100 * ($2 - $1) / $1 }' | sort -n |
			awk -v name="$compare_name" -v variant=$variant '{ v[NR] = $1 } END {
				printf "%-10s %-12s %+8.2f %+8.2f %+8.2f\n", name, variant,
					v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 1) / 4)] }'
	done
}

echo
echo "Whole programs: CPU time against the bare run beside it, per cent, $pairs pairs"
printf '%-10s %-12s %8s %8s %8s\n' program variant median q1 q3
[ "$pairs" = 0 ] || {
compare xz xz -T2 -1 -c "$work/data"
compare python3 $python "$work/script.py"
compare gcc gcc -O2 -c -o "$work/out.o" "$work/input.c"
}

# ---- start-up ----
start() { # label environment...
	label=$1
	shift
	"$work/run-cost" "$starts" "$@" /bin/true | sort -n -k2,2 >"$work/starts"
	awk '{ print $2 / 1000 }' "$work/starts" | record start-wall ms by="$(tr ' ' _ <<<"${label//,/}")"
	awk '{ print $1 / 1000 }' "$work/starts" | record start-cpu ms by="$(tr ' ' _ <<<"${label//,/}")"
	cat "$work/starts" |
		awk -v label="$label" '{ wall[NR] = $2; cpu += $1 }
			END { printf "%-28s %10.3f %10.3f\n", label, wall[int((NR + 1) / 2)] / 1000, cpu / NR / 1000 }'
}

echo
echo "Start and end of /bin/true, ms, $starts runs each"
printf '%-28s %10s %10s\n' '' 'wall p50' 'cpu mean'
start bare
start 'bare again'
echo 'int nothing;' | $CC -shared -fPIC -x c -o "$work/empty.so" - && start 'an empty library' LD_PRELOAD="$work/empty.so"
start 'libcprof, no mode on' LD_PRELOAD="$CP_LIBRARY"
start 'cprof run' ./cprof run -o "$work/r.pb" --
start 'libcprof, cpu' LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/o.pb"
[ -z "$gperftools" ] || start 'gperftools, cpu' LD_PRELOAD="$gperftools" CPUPROFILE="$work/g.prof"

# ---- memory ----
memory() { # name command...
	memory_name=$1
	shift
	for variant in bare bare-again libcprof ${gperftools:+gperftools}; do
		case $variant in
		bare*) "$work/run-cost" 7 "$@" ;;
		libcprof) "$work/run-cost" 7 LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/o.pb" "$@" ;;
		gperftools) "$work/run-cost" 7 LD_PRELOAD="$gperftools" CPUPROFILE="$work/g.prof" "$@" ;;
		esac | awk '{ print $3 }' | sort -n >"$work/peaks"
		record memory KiB program="$memory_name" by="$variant" <"$work/peaks"
		sed -n 4p "$work/peaks" | sed "s/^/$variant /"
	done | awk -v name="$memory_name" '
		NR == 1 { base = $2 }
		{ printf "%-10s %-12s %10d %+10d\n", name, $1, $2, $2 - base }'
}

echo
echo "Peak resident memory, KiB, median of 7 runs"
printf '%-10s %-12s %10s %10s\n' program variant peak extra
memory python3 $python "$work/script.py"
memory xz xz -T2 -1 -c "$work/data"
memory 64-threads ./tests/e2e/accuracy-host 2 64
