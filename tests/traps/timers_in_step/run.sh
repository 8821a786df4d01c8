# SPDX-License-Identifier: BSD-3-Clause
# All threads' timers fire in step; and a periodic program runs in step with the timer.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/cpu-host
# 150 threads that work for 0.7 of a period: a random first expiry hits about 0.7 of them, one at a full
# period none, one at zero all.
CPUPROFILE_FREQUENCY=50 ends_well profiled spread "$host" short 150 0.014
check_valid "$work/spread.pb"
hit=$("$pprof_check" --raw "$work/spread.pb" | sed -n 's/.*tid=\([0-9]*\).*work.*/\1/p' | sort -u | wc -l)
echo "threads hit: $hit of 150"
[ "$hit" -gt 40 ] && [ "$hit" -lt 140 ] || fail "the first expiries are not spread: $hit of 150 threads"
# The program's period is the sampler's, so a timer without random steps sees one place in it. Of 200 samples of equal
# weight the standard deviation is 3.5 %. Each sample counts for its step, so their sum is the CPU time.
ends_well profiled periodic "$host" periodic 2
check_valid "$work/periodic.pb"
sum() { # function
	"$pprof_check" --raw "$work/periodic.pb" | sed -n "s/^[0-9]*,\([0-9]*\).*$1.*/\1/p" |
		awk '{ s += $1 } END { printf "%d", s / 1000000 }'
}
first=$(sum first_half)
second=$(sum second_half)
awk -v first="$first" -v second="$second" -v weights="$(weights "$work/periodic.pb")" "$awk_root"'BEGIN {
	split(weights, w, " ")
	share = first * 100 / (first + second)
	off = 100 * 4.5 * root(0.25 * w[2]) / w[1]
	printf "first half %d ms, second half %d ms: %.1f %%, give or take %.1f\n", first, second, share, off
	exit !(share > 50 - off && share < 50 + off)
}' || fail "the first half has not 50 %"
used=$("$pprof_check" --comments "$work/periodic.pb" | sed -n 's/^cpu time: \([0-9.]*\) s used.*/\1/p')
total=$("$pprof_check" --total "$work/periodic.pb" | awk -v used="$used" '$1 == "cpu" { printf "%d", 1000 * $3 / 1e9 / used }')
echo "total: $total thousandths of $used s"
[ "$total" -gt 975 ] && [ "$total" -lt 1025 ] || fail "the total has $total thousandths of the CPU time"
finish
