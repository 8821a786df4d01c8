# SPDX-License-Identifier: BSD-3-Clause
# Trap: a program replaces SIGPROF's handler without libc. It runs as it would without the profiler; a note says that
# there are no samples from then on.
. "$srcdir/tests/lib/e2e.sh"

profiled_in_background() {
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/raw.pb" CPROF_VERBOSE=1 ./tests/traps/handler_taken_by_system_call/host "$work/go" \
		>"$work/raw.out" 2>"$work/raw.err" &
	host=$!
	owns "$host"
}

said() {
	grep -q "took SIGPROF's handler" "$work/raw.err"
}

profiled_in_background
wait_for 20 said || fail "nothing was said: $(cat "$work/raw.err")"
: >"$work/go"
reap "$host"
check_status raw 5
grep -qx 'done' "$work/raw.out" || harm "output: $(cat "$work/raw.out")"
[ "$(grep -c "^libcprof: the program took SIGPROF's handler" "$work/raw.err")" = 1 ] || fail "said: $(cat "$work/raw.err")"
check_valid "$work/raw.pb"
check_comment "$work/raw.pb" "note: the program took SIGPROF's handler"
finish
