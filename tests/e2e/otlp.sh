#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof convert -to=otlp: what each mode writes comes back the same, sample by sample.
. "$srcdir/tests/lib/e2e.sh"
cprof=$builddir/cprof
[ -x "$cprof" ] || skip "the cprof tool is not built"

env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/cpu.pb" WALLPROFILE="$work/wall.pb" WALLPROFILE_FREQUENCY=200 \
	HEAPPROFILE="$work/heap.pb" CPROF_HEAP_INTERVAL=4K LOCKPROFILE="$work/lock.pb" CPROF_LOCK_THRESHOLD=0 \
	./tests/e2e/lock-host >/dev/null || fail "lock-host ends with $?"
count=0
for profile in "$work"/*.pb; do
	name=$(basename "$profile" .pb)
	"$cprof" convert -to=otlp "$profile" -o "$work/$name.otlp" || fail "$name can't be converted"
	"$cprof" convert -to=pprof-text "$profile" >"$work/$name.before"
	"$cprof" convert -to=pprof-text "$work/$name.otlp" >"$work/$name.after"
	# The samples of the default type come first, so others may change their place.
	cmp -s <(sort "$work/$name.before") <(sort "$work/$name.after") ||
		fail "$name: $(diff <(sort "$work/$name.before") <(sort "$work/$name.after") | head -n 5)"
	gzip -c "$work/$name.otlp" | "$cprof" top - >"$work/$name.top" 2>"$work/$name.err" || fail "$name: gzipped: $(cat "$work/$name.err")"
	cmp -s <("$cprof" top "$profile" 2>/dev/null) "$work/$name.top" || fail "$name: another table"
	count=$((count + 1))
done
[ $count -ge 5 ] || fail "only $count profiles"
"$cprof" merge "$work/cpu.otlp" -o "$work/again.pb" && check_valid "$work/again.pb"
head -c 300 "$work/cpu.otlp" >"$work/cut.otlp"
! "$cprof" top "$work/cut.otlp" >/dev/null 2>"$work/cut.err" || fail "half a file is read"
grep -q 'OTLP: the data ends in the middle' "$work/cut.err" || fail "half a file: $(cat "$work/cut.err")"
finish
