#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A dump of a million different stacks: its time, and the longest step of a thread of the program meanwhile, beside the
# longest in as much time without a dump. Wants two free cores. DUMP_STACKS, DUMP_TIMES: other numbers.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
stacks=${DUMP_STACKS:-1000000} times=${DUMP_TIMES:-5}
$CC -O1 -D_GNU_SOURCE -pthread -o "$work/dump-host" "$srcdir/bench/dump-host.c" || exit 1

one() { # mode victim setting...
	one_mode=$1 one_victim=$2
	shift 2
	env LD_PRELOAD="$CP_LIBRARY" CPROF_CHECKPOINT=0 "$@" "$work/dump-host" "$stacks" "$one_mode" "$one_victim" \
		"$times" "$work/d" >"$work/lines" 2>"$work/err"
	rm -f "$work"/*.pb* "$work"/.*.tmp
	grep 'lacks samples' "$work/err" && fail "$one_mode: fewer stacks than $stacks"
	# The first one has everything to name.
	awk 'NR == 1 { print $1 }' "$work/lines" | say_record dump-first ms mode="$one_mode" victim="$one_victim"
	awk 'NR > 1 { print $1 }' "$work/lines" | say_record dump ms mode="$one_mode" victim="$one_victim"
	awk 'NR > 1 { print $2 }' "$work/lines" | say_record dump-cpu ms mode="$one_mode" victim="$one_victim"
	awk '{ print $4 / 1000 }' "$work/lines" | say_record dump-step ms mode="$one_mode" victim="$one_victim" when=dump
	awk '{ print $6 / 1000 }' "$work/lines" | say_record dump-step ms mode="$one_mode" victim="$one_victim" when=without
	awk '{ print $3 / 1000 }' "$work/lines" | say_record dump-step-any ms mode="$one_mode" victim="$one_victim" when=dump
	awk '{ print $5 / 1000 }' "$work/lines" | say_record dump-step-any ms mode="$one_mode" victim="$one_victim" when=without
	awk '{ print $7 / 1e6 }' "$work/lines" | say_record dump-file MB mode="$one_mode" victim="$one_victim"
}

echo "Dumps of $stacks stacks"
for victim in spin fault; do
	one cpu $victim CPUPROFILE="$work/d.pb"
done
one heap malloc HEAPPROFILE="$work/d.pb" CPROF_HEAP_INTERVAL=1
finish
