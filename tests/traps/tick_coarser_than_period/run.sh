# SPDX-License-Identifier: BSD-3-Clause
# POSIX CPU timers fire at the kernel's tick: at HZ=250 a "1000 Hz" profile holds 250 samples a second. The
# total CPU time must be right all the same. That holds, too, where the kernel hasn't looked at a thread's timer for long
# when the thread or the process ends.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/cpu-host
for frequency in 99 1000 4000 99-unchecked 99-left 1000-left; do
	does="threads 2"
	[ "${frequency#*-}" = unchecked ] && does="unchecked 1"
	[ "${frequency#*-}" = left ] && does="left 2"
	# shellcheck disable=SC2086
	CPUPROFILE_FREQUENCY=${frequency%-*} ends_well profiled "f$frequency" "$host" $does 0.7
	check_valid "$work/f$frequency.pb"
	total=$("$pprof_check" --total "$work/f$frequency.pb" | sed -n 's/^cpu nanoseconds //p')
	used=$(tail -n 1 "$work/f$frequency.err")
	echo "$frequency Hz: $total ns in the profile, $used ns used"
	# Of each thread at most a period and a tick (10 ms at HZ=100) is missing or too much: 3 % of 2 s,
	# and the program's start is not profiled.
	[ "$total" -gt $((used * 96 / 100)) ] && [ "$total" -lt $((used * 104 / 100)) ] ||
		fail "$frequency Hz: $total ns in the profile, $used ns used"
	frequency=${frequency%-*}
	# The real period is written.
	"$pprof_check" --comments "$work/f$frequency.pb" |
		grep -q "frequency $frequency Hz, period $((1000000000 / frequency)) ns" ||
		fail "$frequency Hz: the period is not in the comments"
done
# At 4000 Hz each tick stands for several periods. The sum alone doesn't tell: what isn't counted at the ticks is counted
# when the thread ends, which with HZ=250 would be 15 of 16.
all=$("$pprof_check" --total "$work/f4000.pb" | sed -n 's/^cpu nanoseconds //p')
late=$("$pprof_check" --comments "$work/f4000.pb" | sed -n "s/^last ticks: \([0-9]*\) expiries after a thread's last kernel tick.*/\1/p")
[ $((${late:-0} * 250000)) -lt $((all * 88 / 100)) ] || fail "4000 Hz: $late expiries are counted at the ends of threads, of $all ns"
# A long time after the kernel's last look is the last stack's.
for kind in 99-unchecked 99-left 1000-left; do
	check_no_stack "$work/f$kind.pb" '\[not sampled\]'
done
finish
