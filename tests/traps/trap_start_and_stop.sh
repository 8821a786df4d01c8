# Trap: a linked program starts and stops profiling while its other threads come and go; and dumps to
# a pipe that nobody reads. Neither hangs, neither leaves a thread of ours behind.
. "$srcdir/tests/lib/e2e.sh"
need timeout

for what in races stalled; do
	bare "$what" timeout -s KILL 60 ./tests/traps/start-stop "$what" "$work"
	check_status "$what" 0
	[ ! -s "$work/$what.out" ] || fail "$what: $(cat "$work/$what.out")"
	check_quiet "$what"
	check_valid "$work/$what.pb"
done
finish
