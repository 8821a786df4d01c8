#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Time, memory and answers of `cprof symbolize` for 2,000 addresses in programs with over 100 MB of DWARF, beside
# llvm-symbolizer and addr2line in the same runs; GCC writes
# .debug_aranges, clang does not.
# The tools alternate, so that what else the machine does hits all alike; medians.
set -eu
. "${srcdir:-$(dirname "$0")/..}/bench/lib.sh"
runs=${RUNS:-5} addresses=${ADDRESSES:-2000}
: "${srcdir:=.}"
[ -x ./cprof ] || { echo "bench/symbolize.sh: the tool is not built (--disable-tool)"; exit 0; }
for program in python3 objcopy objdump nm; do
	command -v $program >/dev/null || { echo "bench/symbolize.sh: $program is not installed"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make -s bench/address-profile
failed=0

# One compiled unit, linked COPIES times with its symbols renamed.
build() { # copies compiler flags
	"${@:2}" -O2 -c -o "$work/unit.o" "$srcdir/bench/symbolize-unit.cc"
	nm -g --defined-only "$work/unit.o" | awk '{ print $NF }' | sort -u >"$work/symbols"
	for i in $(seq "$1"); do
		sed "s/.*/& &.copy$i/" "$work/symbols" >"$work/map"
		objcopy --redefine-syms="$work/map" "$work/unit.o" "$work/unit-$i.o"
	done
	echo 'int main() {}' >"$work/main.cc"
	g++ -o "$work/program" "$work/main.cc" "$work"/unit-*.o
	rm -f "$work"/unit*.o
	objdump -d --no-show-raw-insn "$work/program" --section=.text | awk -v n="$addresses" '
		# No sample is ever in the padding between functions.
		/\t(data16|cs )*(nop|xchg +%ax,%ax)/ { next }
		/^ +[0-9a-f]+:\t/ { sub(":", "", $1); all[++count] = $1 }
		END { for (i = 0; i < n; i++) print "0x" all[1 + int((i + 0.5) * count / n)] }' >"$work/addresses"
}

# Wall seconds and peak memory in KiB, as a line of $work/NAME.times; output in $work/NAME.
measure() { # name command...
	python3 - "$work/$1" "$work/addresses" "${@:2}" >>"$work/$1.times" <<'END'
import os, subprocess, sys, time
start = time.monotonic()
with open(sys.argv[1], "w") as out, open(sys.argv[2]) as addresses:
    p = subprocess.Popen(sys.argv[3:], stdin=addresses, stdout=out, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
print(f"{time.monotonic() - start:.3f} {usage.ru_maxrss} {status}")
END
}

show() { # name
	awk '{ print $1 }' "$work/$1.times" | record symbolize s by="$1" dwarf="${compiler}${flags//-g/_}"
	awk '{ print $2 / 1024 }' "$work/$1.times" | record symbolize-memory MB by="$1" dwarf="${compiler}${flags//-g/_}"
	sort -n "$work/$1.times" | awk -v name="$1" '
		{ seconds[NR] = $1; kib[NR] = $2; bad += $3 != 0 }
		END {
			m = int((NR + 1) / 2)
			printf "  %-16s %6.2f s %5d MB%s\n", name, seconds[m], kib[m] / 1024, bad ? "  FAILED" : ""
		}'
	rm -f "$work/$1.times"
}

compare() { # tool kind
	[ ! -e "$work/$1" ] || python3 "$srcdir/bench/symbolize-compare.py" "$work/ours" "$work/$1" "$2"
}

# (addr2line 2.40 finds no inlined call in clang's DWARF 5, so it isn't asked there.)
# WAYS: only so many of the three.
ways=("70 g++ -gdwarf-5" "90 clang++ -gdwarf-4" "110 clang++ -gdwarf-5")
for way in "${ways[@]:0:${WAYS:-3}}"; do
	read -r copies compiler flags <<<"$way"
	command -v "$compiler" >/dev/null || continue
	build "$copies" "$compiler" "$flags"
	rm -f "$work/llvm-symbolizer" "$work/addr2line"
	dwarf=$(readelf -SW "$work/program" | sed -n 's/.* \.debug_[a-z_]* *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p' |
		while read -r n; do echo $((16#$n)); done | awk '{ sum += $1 } END { printf "%d", sum }')
	echo "$compiler $flags: $((dwarf / 1000000)) MB of DWARF, $addresses addresses"
	./bench/address-profile "$work/program" "$work/bare.pb" <"$work/addresses"
	for _ in $(seq "$runs"); do
		measure cprof ./cprof symbolize -o "$work/full.pb" "$work/bare.pb"
		# The modes of a process share one pass.
		for n in 1 2 3 4; do cp "$work/bare.pb" "$work/mode$n.pb"; done
		measure cprof-four-modes ./cprof symbolize --in-place "$work"/mode[1-4].pb
		command -v llvm-symbolizer >/dev/null &&
			measure llvm-symbolizer llvm-symbolizer --obj="$work/program" --no-demangle --functions=linkage --inlines -a
		measure addr2line addr2line -e "$work/program" -a -f -i
	done
	# libdw's (EU_ADDR2LINE=1): half a minute, and nothing without .debug_aranges.
	[ "$compiler ${EU_ADDR2LINE:-}" != "g++ 1" ] || measure eu-addr2line eu-addr2line -e "$work/program" -a -f -i
	for tool in cprof cprof-four-modes llvm-symbolizer addr2line eu-addr2line; do
		[ ! -e "$work/$tool.times" ] || show $tool
	done
	./bench/address-profile "$work/full.pb" >"$work/ours"
	sed -i 's/^0x0*/0x/' "$work/addr2line"
	compare llvm-symbolizer llvm || failed=1
	[ "$compiler $flags" = "clang++ -gdwarf-5" ] || compare addr2line addr2line || failed=1
done
exit $failed
