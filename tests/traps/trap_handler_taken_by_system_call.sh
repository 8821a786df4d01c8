# Trap: a program takes SIGPROF's handler behind libc's back. It goes on as it would; that there
# are no samples from then on is said once.
. "$srcdir/tests/lib/e2e.sh"

profiled_in_background() {
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/raw.pb" ./tests/traps/raw-handler "$work/go" \
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
status=0
wait "$host" || status=$?
check_status raw 5
grep -qx 'done' "$work/raw.out" || fail "output: $(cat "$work/raw.out")"
[ "$(grep -c '^libcprof:' "$work/raw.err")" = 1 ] || fail "said: $(cat "$work/raw.err")"
check_valid "$work/raw.pb"
finish
