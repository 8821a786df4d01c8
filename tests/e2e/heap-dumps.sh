# SPDX-License-Identifier: BSD-3-Clause
# Heap dumps after an amount was allocated, freed, or is in use; after a time; on a signal; the file of the high-water
# mark; the report of memory in use at exit.
. "$srcdir/tests/lib/heap.sh"
export CPROF_HEAP_INTERVAL=1

begin() { # name variable=value...
	step_name=$1
	shift
	mkfifo "$work/$step_name.in" "$work/$step_name.answers"
	env "$@" LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/$step_name.pb" ./tests/e2e/heap-sites steps \
		<"$work/$step_name.in" >"$work/$step_name.answers" 2>"$work/$step_name.err" &
	stepper=$!
	owns $stepper
	exec 3>"$work/$step_name.in" 4<"$work/$step_name.answers"
}

step() { # MB, or 0
	echo "$1" >&3
	read -r _ <&4
}

end() {
	exec 3>&- 4<&-
	reap $stepper
	check_status "$step_name" 0
}

# The dump number N is there, and has so many MB in use at the site, or up to one less: by amount it is
# written in the middle of a step, else while the program goes on.
dumped() { # n mb
	file=$work/$step_name.000$1.pb
	wait_for 10 test -s "$file" || { fail "$step_name: no dump $1"; return; }
	check_heap "$file"
	read -r _ _ _ bytes <<<"$(heap_values "$file" site_step)"
	[ "$bytes" -le $(($2 << 20)) ] && [ "$bytes" -ge $((($2 - 1) << 20)) ] || fail "$step_name: $bytes bytes in dump $1, not $2 MB"
}

not_dumped() { [ ! -e "$work/$step_name.000$1.pb" ] || fail "$step_name: a dump $1 too many"; }

begin allocated HEAP_PROFILE_ALLOCATION_INTERVAL=10M
step 9
step 2
dumped 1 11
step 0
step 8
step 2
dumped 2 10
end
not_dumped 3
check_quiet allocated

begin freed HEAP_PROFILE_DEALLOCATION_INTERVAL=10M
step 11
step 0
dumped 1 1
end
not_dumped 2

begin inuse HEAP_PROFILE_INUSE_INTERVAL=10M
step 11
dumped 1 11
step 0
step 8
step 0
step 21
dumped 2 21
end
not_dumped 3

begin time HEAP_PROFILE_TIME_INTERVAL=1
step 3
dumped 1 3
end

begin signal HEAPPROFILESIGNAL=USR1
step 4
kill -USR1 $stepper
dumped 1 4
end

# The high water, within a tenth, long after; at the end nothing of it is in use.
begin peak CPROF_VERBOSE=1
step 5
step 40
step 0
step 7
end
read -r _ _ _ bytes <<<"$(heap_values "$work/peak.peak.pb" site_step)"
[ "$bytes" -ge $((40 << 20)) ] && [ "$bytes" -le $((45 << 20)) ] || fail "$bytes bytes at the peak, not 45 MB"
check_heap "$work/peak.pb" "$work/peak.peak.pb"
read -r _ _ _ bytes <<<"$(heap_values "$work/peak.pb" site_step)"
[ "$bytes" = $((7 << 20)) ] || fail "$bytes bytes in use at the end, not 7 MB"
grep -q '^libcprof: in use: 7340032 bytes, 448 objects: site_step < ' "$work/peak.err" ||
	fail "what is in use is not said: $(grep 'in use' "$work/peak.err")"
finish
