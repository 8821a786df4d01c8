#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Time and memory of `cprof` on a profile of about 50 MB (a million samples; merge: two of them),
# beside go tool pprof where it is installed. Runs alternate, so that what else the machine does hits all alike; medians
# (of pprof, which takes a minute or two, one run).
set -eu
. "${srcdir:-$(dirname "$0")/..}/bench/lib.sh"
runs=${RUNS:-3}
verbs='top tree tags info merge strip-labels flame folded'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -x ./cprof ] || { echo "bench/tool.sh: the tool is not built (--disable-tool)"; exit 0; }
make -s bench/big-profile
./bench/big-profile "$work/big.pb" "${SAMPLES:-1000000}"
./bench/big-profile "$work/second.pb" "${SAMPLES:-1000000}" 2
size=$(stat -c %s "$work/big.pb")
echo "a file of $((size / 1000000)) MB, $(zcat "$work/big.pb" | wc -c | awk '{ printf "%d", $1 / 1e6 }') MB uncompressed"

# Wall seconds and peak memory in KiB, as a line of $work/NAME.
measure() { # name command...
	python3 - "$@" >>"$work/$1" <<'END'
import os, resource, subprocess, sys, time
start = time.monotonic()
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(p.pid, 0)
print(f"{time.monotonic() - start:.3f} {usage.ru_maxrss} {status}")
END
}

show() { # name
	awk '{ print $1 }' "$work/$1" | record tool s verb="${1#cprof-}"
	awk '{ print $2 * 1024 / 1e6 }' "$work/$1" | record tool-memory MB verb="${1#cprof-}"
	awk -v size="$size" '{ print $2 * 1024 / size }' "$work/$1" | record tool-times times_the_file verb="${1#cprof-}"
	sort -n "$work/$1" | awk -v name="$1" -v size="$size" '
		{ seconds[NR] = $1; kib[NR] = $2; bad += $3 != 0 }
		END {
			m = int((NR + 1) / 2)
			printf "%-14s %6.2f s   %7.1f MB = %4.1f x the file%s\n", name, seconds[m],
				kib[m] * 1024 / 1e6, kib[m] * 1024 / size, bad ? "   FAILED" : ""
		}'
}

for run in $(seq "$runs"); do
	for verb in $verbs; do
		case $verb in
		merge) more=(-o "$work/out.pb" "$work/second.pb") ;;
		strip-labels) more=(-o "$work/out.pb") ;;
		flame) more=(-o "$work/out.html") ;;
		*) more=() ;;
		esac
		measure "cprof-$verb" ./cprof $verb "${more[@]}" "$work/big.pb"
	done
	if [ "$run" = 1 ] && command -v go >/dev/null; then
		# It takes two minutes for a million samples: PPROF_SAMPLES gives both tools fewer to compare.
		if [ -n "${PPROF_SAMPLES:-}" ]; then
			./bench/big-profile "$work/small.pb" "$PPROF_SAMPLES"
			for again in 1 2 3; do measure cprof-top-fewer ./cprof top "$work/small.pb"; done
			measure pprof-top-fewer go tool pprof -symbolize=none -top "$work/small.pb"
		else
			measure pprof-top go tool pprof -symbolize=none -top "$work/big.pb"
		fi
	fi
done
for verb in $verbs; do
	show "cprof-$verb"
done
for name in pprof-top cprof-top-fewer pprof-top-fewer; do
	[ ! -e "$work/$name" ] || show $name
done
