# SPDX-License-Identifier: BSD-3-Clause
# unshare and setns are for single-threaded programs, and a single-threaded program stays one in the
# kernel's eyes. Process 1 of a pid namespace ignores signals that it has no handler for.
. "$srcdir/tests/lib/e2e.sh"
limit="timeout -s KILL 20"
export CPUPROFILE_FREQUENCY=1000
some=
# In a program with one thread libc doesn't know our task; once there was a second thread, it does.
for words in close-range close-range-by-number unshare-user unshare-pid setns \
	"close-range threaded" "unshare-user threaded" "setns threaded"; do
	way=${words/ /-}
	bare "$way-bare" ./tests/traps/hosts/sandbox $words
	[ "$status" = 0 ] || { echo "# $way is not possible here"; continue; }
	some=yes
	profiled "$way" ./tests/traps/hosts/sandbox $words
	check_ended_valid "$way" 0 "$way-bare"
	check_stack "$work/$way.pb" 'work;main'
done
# Our thread's end, and its task's, are seen by the kernel as late as can be.
for way in unshare-user setns; do
	[ -e "$work/$way.pb" ] || continue
	CPUPROFILE="$work/$way.late.pb" bare "$way-late" ./tests/traps/namespaces/host env LD_PRELOAD="$CP_LIBRARY" ./tests/traps/hosts/sandbox "$way"
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
