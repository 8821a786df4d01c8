# unshare and setns are for single-threaded programs, and a single-threaded program stays one in the
# kernel's eyes. Process 1 of a pid namespace ignores signals that it has no handler for.
. "$srcdir/tests/lib/e2e.sh"
need timeout
limit="timeout -s KILL 20"
CPUPROFILE_FREQUENCY=1000
export CPUPROFILE_FREQUENCY
some=
# With one thread ours is no thread of libc's; once there was a second one, it is.
for words in close-range close-range-by-number unshare-user unshare-pid setns \
	"close-range threaded" "unshare-user threaded" "setns threaded"; do
	way=${words/ /-}
	bare "$way-bare" ./tests/traps/sandbox $words
	[ "$status" = 0 ] || { echo "# $way is not possible here"; continue; }
	some=yes
	profiled "$way" ./tests/traps/sandbox $words
	check_status "$way" 0
	check_same_output "$way" "$way-bare"
	check_quiet "$way"
	check_valid "$work/$way.pb"
	check_stack "$work/$way.pb" confined_work
done
# Our thread's end, and its task's, are seen by the kernel as late as can be.
for way in unshare-user setns; do
	[ -e "$work/$way.pb" ] || continue
	CPUPROFILE="$work/$way.late.pb" bare "$way-late" ./tests/traps/late-reaper env LD_PRELOAD="$CP_LIBRARY" ./tests/traps/sandbox "$way"
	[ "$status" != 77 ] || { echo "# no ptrace here"; continue; }
	check_status "$way-late" 0
	check_same_output "$way-late" "$way-bare"
	check_valid "$work/$way.late.pb"
done
if [ -e "$work/unshare-pid.pb" ]; then
	check_valid "$work/unshare-pid.pb.1"
	check_stack "$work/unshare-pid.pb.1" unshare_pid
fi
[ "$some" ] || skip "neither namespaces nor close_range here"
finish
