#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The wall clock where threads are ready to run but have no processor: eight threads on one. Nothing here depends on
# other work on the machine: what runs has CPU time, and only one thread at a time is in alone().
. "$srcdir/tests/lib/e2e.sh"
host=./tests/e2e/wall-ready-host

LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" WALLPROFILE_FREQUENCY=100 "$host" 4 >"$work/out" 2>"$work/err" || fail "status $?"
check_valid_as wall "$work/w.pb"
read -r cpu lived <"$work/out"

sum() { # what
	"$pprof_check" --raw "$work/w.pb" | grep -E -- "$1" | awk -F '[,\t]' '{ s += $2 } END { printf "%.0f\n", s }'
}
running=$(sum 'state=running') runnable=$(sum 'state=runnable') alone=$(sum '[ ;	]alone;') free=$(sum '[ ;	]beside;')
waits=$(sum 'state=waiting.*pthread_mutex_lock')
echo "cpu $cpu lived $lived; running $running runnable $runnable waiting for the lock $waits; alone $alone beside $free"
# The visits of a running thread are at random times: 100 a second, in all some 400, so a standard deviation of 5 %.
[ "$((running * 5))" -le "$((cpu * 6))" ] || fail "$running ns are running, of $cpu ns of CPU time"
# As many as hold the lock: one.
[ "$((alone * 5))" -le "$((lived * 6))" ] || fail "$alone ns in alone(), which one thread at a time enters, in $lived"
[ "$runnable" -gt 0 ] || fail "nothing is runnable"
finish
