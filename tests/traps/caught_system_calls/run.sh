# SPDX-License-Identifier: BSD-3-Clause
# Trap: a thread that has the kernel catch its system calls (Syscall User Dispatch, as Wine does). The return from a
# signal handler is one: a sample's was caught, and the thread went on in the middle of nowhere.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/caught_system_calls/host
limit=$bounded
# Faults are events that come without a system call.
export CPUPROFILE_FREQUENCY=1000 WALLPROFILE_FREQUENCY=200 CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1
for how in libc by-number thread; do
	bare "bare-$how" $host $how
	[ "$status" != 77 ] || skip "no PR_SET_SYSCALL_USER_DISPATCH in this kernel"
	check_status "bare-$how" 0
	for engine in timer perf; do
		ends_well profiled "$how" env CPROF_CPU_ENGINE=$engine WALLPROFILE="$work/$how.wall" EVENTPROFILE="$work/$how.event" \
			$host $how
		check_same_output "$how" "bare-$how"
		check_valid "$work/$how.pb"
		[ -z "${CP_MODES:-}" ] || continue
		"$pprof_check" --raw "$work/$how.pb" >"$work/raw"
		grep -q ';caught_work' "$work/raw" && fail "$how, $engine: samples while system calls are caught"
		grep -q ';other_work' "$work/raw" || fail "$how, $engine: no samples of the other thread"
		grep -q ';later_work' "$work/raw" || fail "$how, $engine: no samples afterwards"
		"$pprof_check" --comments "$work/$how.pb" | grep -q 'note: .*PR_SET_SYSCALL_USER_DISPATCH' ||
			fail "$how, $engine: not a word of it"
		if [ $how = thread ] && [ $engine = timer ]; then
			total=$("$pprof_check" --total "$work/$how.pb" | sed -n 's/^cpu nanoseconds //p')
			used=$(tail -n 1 "$work/$how.err")
			echo "$total ns in the profile, $used ns used while no calls are caught"
			[ "$total" -gt $((used * 96 / 100)) ] && [ "$total" -lt $((used * 104 / 100)) ] ||
				fail "$how: $total ns in the profile, $used ns used"
		fi
		grep -q 'is not possible' "$work/$how.err" && continue
		"$pprof_check" --raw "$work/$how.event" >"$work/raw"
		grep -q ';caught_work' "$work/raw" && fail "$how, $engine: events while system calls are caught"
		grep -q ';later_work' "$work/raw" || fail "$how, $engine: no events afterwards"
	done
done
finish
