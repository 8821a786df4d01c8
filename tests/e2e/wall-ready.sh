#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The wall clock where threads are ready to run but have no processor: eight threads on one. Nothing here depends on
# other work on the machine: what runs has CPU time.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/e2e/wall-ready-host

LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" WALLPROFILE_FREQUENCY=100 "$host" 4 >"$work/out" 2>"$work/err" || fail "status $?"
check_valid_as wall "$work/w.pb"
read -r cpu lived <"$work/out"

sum() { # what
	"$pprof_check" --raw "$work/w.pb" | grep -E -- "$1" | awk -F '[,\t]' '{ s += $2 } END { printf "%.0f\n", s }'
}
running=$(sum 'state=running') runnable=$(sum 'state=runnable') alone=$(sum '[ ;	]alone;') free=$(sum '[ ;	]beside;')
waits=$(sum 'state=waiting.*pthread_mutex_lock') woken=$(sum 'state=runnable.*pthread_mutex_lock')
echo "cpu $cpu lived $lived; running $running runnable $runnable waiting for the lock $waits, woken $woken; alone $alone beside $free"
# Visits are at random times, each for a slice of time: of N slices, the deviation is the root of N slices. Where
# others take the processors there are fewer visits.
visits=$("$pprof_check" --comments "$work/w.pb" | sed -n 's/^visits: \([0-9]*\) of threads.*/\1/p')
most() { # ns
	awk -v ns="$1" -v slice="$((9 * lived / visits))" 'BEGIN { printf "%.0f\n", ns + 5 * sqrt(ns * slice) }'
}
[ "$running" -le "$(most "$cpu")" ] || fail "$running ns are running, of $cpu ns of CPU time"
[ "$runnable" -gt 0 ] || fail "nothing is runnable"
[ "$woken" -gt 0 ] || fail "no thread that was woken stands where it waited"
finish
