# SPDX-License-Identifier: BSD-3-Clause
# Trap: a tracer that counts the stops of its child, or hands on none of the signals that it stops for,
# as many do: a sample would be one.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/traced_child/host
limit=$bounded
# Faults are events.
export CPUPROFILE_FREQUENCY=1000 WALLPROFILE_FREQUENCY=200 CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1
for how in libc by-number thread forks; do
	ends_well bare "bare-$how" $host $how
	for engine in timer perf; do
		ends_well profiled "$how" env CPROF_CPU_ENGINE=$engine WALLPROFILE="$work/$how.wall" EVENTPROFILE="$work/$how.event" \
			$host $how
		check_same_output "$how" "bare-$how"
		for file in "$work/$how.pb"*; do
			check_valid "$file"
		done
		[ -z "${CP_MODES:-}" ] || continue
		# In files of the child and of its own child.
		for file in "$work/$how.pb".* "$work/$how.event".*; do
			"$pprof_check" --raw "$file"
		done >"$work/raw"
		grep -q ';traced_work' "$work/raw" && fail "$how, $engine: samples of the traced thread"
		case $how in
		thread | forks) grep -q ';untraced_work' "$work/raw" || fail "$how, $engine: no samples of the others" ;;
		esac
		for file in "$work/$how.pb".*; do
			"$pprof_check" --comments "$file"
		done | grep -q 'note: .*PTRACE_TRACEME' || fail "$how, $engine: not a word of it"
	done
done
finish
