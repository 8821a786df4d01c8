#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof convert -to=otlp: what each mode writes comes back the same: stacks, lines, labels, comments.
. "$srcdir/tests/lib/e2e.sh"
cprof=$builddir/cprof
[ -x "$cprof" ] || skip "the cprof tool is not built"

env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/cpu.pb" WALLPROFILE="$work/wall.pb" WALLPROFILE_FREQUENCY=200 \
	HEAPPROFILE="$work/heap.pb" CPROF_HEAP_INTERVAL=4K LOCKPROFILE="$work/lock.pb" CPROF_LOCK_THRESHOLD=0 \
	./tests/e2e/lock-host >/dev/null || fail "lock-host ends with $?"

# All of a profile but the order of its samples: those of the default type come first in a message.
contents() { # file
	"$cprof" info "$1" | grep -v '^holds'
	for type in $("$cprof" info "$1" | sed -n 's,^  \([a-z_]*\)/[a-z]* total .*,\1,p'); do
		"$cprof" folded -lines -threads -sample_index="$type" "$1" | sort
		"$cprof" tags -sample_index="$type" "$1"
	done 2>/dev/null
}

count=0
for profile in "$work"/*.pb; do
	name=$(basename "$profile" .pb)
	"$cprof" convert -to=otlp "$profile" -o "$work/$name.otlp" || fail "$name can't be converted"
	contents "$profile" >"$work/$name.before"
	gzip "$work/$name.otlp"
	contents "$work/$name.otlp.gz" >"$work/$name.after"
	grep -q ';.*;' "$work/$name.before" || fail "$name has no stacks"
	cmp -s "$work/$name.before" "$work/$name.after" ||
		fail "$name: $(diff "$work/$name.before" "$work/$name.after" | head -n 5)"
	count=$((count + 1))
done
[ $count -ge 5 ] || fail "only $count profiles"
"$cprof" merge "$work/cpu.otlp.gz" -o "$work/again.pb" && check_valid "$work/again.pb"
zcat "$work/cpu.otlp.gz" | head -c 300 >"$work/cut.otlp"
! "$cprof" top "$work/cut.otlp" >/dev/null 2>"$work/cut.err" || fail "half a file is read"
grep -q 'OTLP: the data ends in the middle' "$work/cut.err" || fail "half a file: $(cat "$work/cut.err")"
finish
