# SPDX-License-Identifier: BSD-3-Clause
# The heap just before memory runs out: dumps at marks of resident memory, of which the last ones stay; and, where a
# cgroup can be made, at per cent of its limit, before the kernel ends the program.
. "$srcdir/tests/lib/heap.sh"

# At its mark a dump has what is resident in use, to the sampling's error (6 % at 100 MB), or the growth of a look.
in_use() { # file least most, in MB
	local bytes
	check_heap "$1"
	read -r _ _ _ bytes <<<"$(heap_values "$1" site_grow)"
	[ "$((bytes >> 20))" -ge "$2" ] && [ "$((bytes >> 20))" -le "$3" ] || fail "$1: $((bytes >> 20)) MB in use, not $2 to $3"
}

CPROF_HEAP_DUMP_AT=30M,45M,60M,80M,100M,140M runs_well heap_profiled marks ./tests/e2e/heap-views-host grow 150
for gone in marks.0001 marks.peak.0001 marks.0002; do
	[ ! -e "$work/$gone.pb" ] || fail "the first dumps stay: $(ls "$work")"
done
[ -s "$work/marks.0003.pb" ] || fail "the last four dumps don't stay: $(ls "$work")"
in_use "$work/marks.0005.pb" 50 130
in_use "$work/marks.0006.pb" 80 180
[ -s "$work/marks.peak.0006.pb" ] || fail "no peak beside the dump"
"$pprof_check" --comments "$work/marks.0006.pb" | grep -q 'dump: resident memory has passed 143360 kB: ' || fail "the reason is not said"
"$pprof_check" --comments "$work/marks.pb" | grep -q 'dump: ' && fail "the last file has a reason"

CPROF_HEAP_DUMP_AT=0% heap_profiled bad ./tests/e2e/heap-views-host grow 1
grep -q 'CPROF_HEAP_DUMP_AT' "$work/bad.err" || fail "0% is taken"

# The program's group, if a child of it may be made here.
group=
for base in /sys/fs/cgroup/memory$(sed -n 's/.*:memory://p' /proc/self/cgroup) /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup); do
	child=$base/libcprof-test-$$
	mkdir "$child" 2>/dev/null || continue
	if { echo 100M >"$child/memory.limit_in_bytes" || echo 100M >"$child/memory.max"; } 2>/dev/null; then
		group=$child
		break
	fi
	rmdir "$child"
done
if [ "$group" ]; then
	for run in 1 2 3; do
		name=killed.$run status=0
		sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec env "$@"' - "$group" LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/$name.pb" \
			CPROF_HEAP_DUMP_AT=80%,95% ./tests/e2e/heap-views-host grow >"$work/$name.out" 2>"$work/$name.err" || status=$?
		[ "$status" = 137 ] || fail "$name: status $status"
		[ -s "$work/$name.0002.pb" ] || { fail "$name: no dump at 95 %: $(ls "$work")"; continue; }
		in_use "$work/$name.0002.pb" 60 130
		"$pprof_check" --comments "$work/$name.0002.pb" | grep -q 'dump: memory has passed 95%: ' || fail "$name: the reason is not said"
	done
	rmdir "$group"
fi
finish
