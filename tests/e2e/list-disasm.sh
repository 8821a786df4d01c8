#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Addresses are those that objdump shows, of each kind of file; `cprof list -disasm` shows the instructions of stripped
# code with their samples.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3 gcc objdump readelf
cd "$work" || exit 1

# Nearly all time is at one division, or right behind it.
cat >host.c <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) unsigned long divide(unsigned long n)
{
	unsigned long s = 1;

	for (unsigned long i = 1; i < n; i++)
		s = 0xfedcba9876543210 / (s | i) + i;
	return s;
}
#ifndef PART
int main(int argc, char **argv)
{
	(void)argc;
	printf("%lx\n", divide(strtoul(argv[1], NULL, 0)));
	return 0;
}
#endif
END
printf 'unsigned long divide(unsigned long n);\n#include <stdio.h>\nint main(void) { printf("%%lx\\n", divide(30000000)); return 0; }\n' >caller.c
gcc -O2 -s -o pie host.c && gcc -O2 -no-pie -s -o fixed host.c && gcc -O2 -g -o lines host.c &&
	gcc -O2 -shared -fPIC -DPART -o libpart.so host.c && gcc -O2 -o shared caller.c ./libpart.so || skip "gcc can't link"
kinds="pie fixed shared"
# Its code's offset in the file isn't its address.
if command -v ld.lld >/dev/null && gcc -O2 -s -fuse-ld=lld -o moved host.c 2>/dev/null; then
	kinds="$kinds moved"
	readelf -lW moved | awk '$1 == "LOAD" && / R E / && $2 != $3 { found = 1 } END { exit !found }' || fail "lld puts code where its address says"
fi

# Prints the addresses of the division and of the two instructions after it, as a regular expression: at which of them
# the samples are, the processor decides, which ends several at once. On aarch64 these are all instructions of the
# loop, because an emulator (make arm64) takes the same time for each.
division() { # file
	objdump -d --no-show-raw-insn "$1" | awk '
		{ address[NR] = $1 }
		$2 == "udiv" { division = NR }
		division && /\tb\.ne\t/ {
			for (i = NR; i > 0 && address[i + 1] != $3 ":"; i--)
				all = address[i] (all ? "|" : "") all
			print all
			exit
		}
		$2 ~ /^divq?$/ { n = 1 }
		n { all = all (n++ > 1 ? "|" : "") $1 }
		n > 3 { print all; exit }' | tr -d :
}
for kind in $kinds; do
	file=$kind
	[ $kind != shared ] || file=libpart.so
	ends_well profiled $kind ./$kind 30000000
	at=$(division $file)
	[ -n "$at" ] || { fail "$file has no division"; continue; }
	"$cprof" top -own= -addresses $kind.pb >out 2>err || fail "top -addresses: $(cat err)"
	sed 1,/own%/d out | head -n 1 | grep -Eq " 0*($at) " || fail "$kind: none of $at first: $(head -n 5 out)"
	"$cprof" folded -addresses $kind.pb | grep -Eq " 0x($at) [0-9]+$" || fail "folded: $("$cprof" folded -addresses $kind.pb)"
	"$cprof" peek -addresses 'divide|\+0x' $kind.pb | grep -Eq " 0*($at) " || fail "peek -addresses"
done

# Another file of that name has other addresses: those of the process stay.
cp pie.pb other.pb
cp pie kept
cp fixed pie
"$cprof" top -own= -addresses other.pb 2>err | grep -q ' 0000[0-9a-f]\{12\} pie+0x' || fail "addresses of another build"
cp kept pie

python3 -c '
import ctypes
for v in "5", "4", "6":
    try: ctypes.CDLL("libcapstone.so." + v); break
    except OSError: pass
else: raise SystemExit(1)' || {
	"$cprof" list -disasm pie pie.pb >out 2>err && fail "without libcapstone"
	grep -q '^cprof list: -disasm needs libcapstone, which isn.t installed: .*capstone' err || fail "without libcapstone: $(cat err)"
	[ $failures = 0 ] || finish
	skip "no libcapstone: addresses are right, -disasm not tried"
}

for kind in $kinds; do
	file=$kind name=$("$cprof" top -own= $kind.pb 2>/dev/null | sed 1,/own%/d | awk 'NR == 1 { print $NF }')
	[ $kind != shared ] || file=libpart.so
	at=$(division $file)
	"$cprof" list -disasm "$name" $kind.pb >out 2>err || fail "$kind: list -disasm $name: $(cat err)"
	grep -E " ($at): " out | awk 'match($0, /[0-9.]+%/) { all += substr($0, RSTART, RLENGTH - 1) }
		END { exit !(all > 50) }' || fail "$kind: $at have less than half: $(cat out)"
	# Instructions begin where objdump's do.
	"$cprof" list -disasm -json "$name" $kind.pb >out.json || fail "$kind: -json"
	objdump -d --no-show-raw-insn $file >dump
	python3 - <<'END' || fail "$kind: $name isn't what objdump shows"
import json, re
ours = json.load(open("out.json"))["functions"][0]
theirs = {int(m, 16) for m in re.findall(r"^ *([0-9a-f]+):\t", open("dump").read(), re.M)}
begin, end = int(ours["begin"], 16), int(ours["end"], 16)
at = [int(i["address"], 16) for i in ours["instructions"]]
assert set(at) == {a for a in theirs if begin <= a < end} and at[0] == begin, (at, sorted(theirs))
assert sum(i["flat"] for i in ours["instructions"]) == ours["flat"] > 0
END
done

# The call of strtoul, for which the stripped file has an import only; its caller has no name.
"$cprof" list -disasm 'pie' pie.pb >out 2>err
grep -Eq ': +(call|bl)q? .*<(__isoc23_)?strtoul@plt>' out || fail "no name at the call: $(cat out)"
grep -c '^ROUTINE' out | grep -qx '[2-9]' || fail "not all functions that match: $(cat out)"

# With debug information, lines stand between.
ends_well profiled lines ./lines 30000000
"$cprof" list -disasm '^divide$' lines.pb >out 2>err || fail "lines: $(cat err)"
grep -q ' host.c:8  s = 0xfedcba9876543210 / (s | i) + i;' out || fail "no source line: $(cat out)"

# Long functions: only what is around hot instructions, and how much is left out.
{
	echo 'volatile unsigned long x;'
	echo 'int main(void) { for (int i = 0; i < 3; i++) {'
	for i in $(seq 200); do echo "x += $i;"; done
	echo 'for (unsigned long k = 1; k < 20000000; k++) x = 0xfedcba9876543210 / (x | k);'
	for i in $(seq 200); do echo "x ^= $i;"; done
	echo '} return 0; }'
} >long.c
gcc -O2 -o long long.c && ends_well profiled long ./long
"$cprof" list -disasm '^main$' long.pb >out 2>err || fail "long: $(cat err)"
grep -q ' \.\.\.  [0-9]\{3,\} more$' out && [ "$(grep -c '' out)" -lt 100 ] || fail "all of a long function: $(grep -c '' out) lines"
"$cprof" list -disasm -all '^main$' long.pb >out 2>err
[ "$(grep -c '' out)" -gt 500 ] || fail "-all isn't all: $(grep -c '' out) lines"

# Refused with a reason.
cp fixed pie
"$cprof" list -disasm pie pie.pb >out 2>err && fail "another build was taken"
grep -q "^cprof list: no instructions of .*/pie: the file is another build, and no file with its build id" err || fail "another build: $(cat err)"
mkdir there
mv kept there/pie
"$cprof" list -disasm -debug-dir there pie pie.pb >out 2>err && grep -q '^ROUTINE' out || fail "-debug-dir: $(cat err)"
"$cprof" list -disasm nothing pie.pb >out 2>err && fail "nothing matches"
grep -q 'no function matches nothing' err || fail "nothing matches: $(cat err)"

# Code of the distribution's and one's own get different hints.
"$cprof" top fixed.pb >out 2>err
grep -q 'is in fixed, which is stripped: build with -g, .*"cprof list -disasm fixed+0x[0-9a-f]* fixed.pb" has instructions' err || fail "hint: $(cat err)"
grep -q 'dbgsym\|DEBUGINFOD' err && fail "a package for one's own program: $(cat err)"
finish
