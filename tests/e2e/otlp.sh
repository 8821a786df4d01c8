#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof convert -to=otlp: the message of each mode's profile holds the same types, stacks, values and labels, as a reader
# in Python finds them. The tool does not read such files, and says so.
. "$srcdir/tests/lib/e2e.sh"
cprof=$builddir/cprof
[ -x "$cprof" ] || skip "the cprof tool is not built"
command -v python3 >/dev/null || skip "python3 is not installed"

env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/cpu.pb" WALLPROFILE="$work/wall.pb" WALLPROFILE_FREQUENCY=200 \
	HEAPPROFILE="$work/heap.pb" CPROF_HEAP_INTERVAL=4K LOCKPROFILE="$work/lock.pb" CPROF_LOCK_THRESHOLD=0 \
	./tests/e2e/lock-host >/dev/null || fail "lock-host ends with $?"

count=0
for profile in "$work"/*.pb; do
	name=$(basename "$profile" .pb)
	"$cprof" convert -to=otlp "$profile" -o "$work/$name.otlp" || fail "$name can't be converted"
	python3 "$srcdir/tests/lib/otlp_stacks.py" "$work/$name.otlp" >"$work/$name.read" || fail "$name can't be read"
	: >"$work/all" # a type may have no value, as memory that nobody has touched
	for type in $("$cprof" info "$profile" | sed -n 's,^  \([a-z_]*\)/[a-z]* total .*,\1,p'); do
		"$cprof" folded -threads -sample_index="$type" "$profile" | sort >"$work/$name.before"
		awk -v type="$type" '/^[^ ]/ { on = $1 == type; next } on && /^  [^=]*$/ { print substr($0, 3) }' "$work/$name.read" |
			sort >"$work/$name.after"
		cat "$work/$name.before" >>"$work/all"
		cmp -s "$work/$name.before" "$work/$name.after" ||
			fail "$name $type: $(diff "$work/$name.before" "$work/$name.after" | head -n 5)"
	done
	grep -q ';.*;' "$work/all" || fail "$name has no stacks"
	count=$((count + 1))
done
[ $count -ge 5 ] || fail "only $count profiles"
grep -q '^  thread.name=lock-host ' "$work/wall.read" && grep -Eq '^  thread.id=[0-9]+ ' "$work/wall.read" ||
	fail "threads are not in the message under OpenTelemetry's names"
grep -q '^  state=waiting ' "$work/wall.read" || fail "the labels are not in the message"
"$cprof" top "$work/cpu.otlp" >/dev/null 2>"$work/otlp.err" && fail "the tool reads such a file"
grep -q "OpenTelemetry's (OTLP), which is only written" "$work/otlp.err" || fail "it says $(cat "$work/otlp.err")"
finish
