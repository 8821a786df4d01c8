# SPDX-License-Identifier: BSD-3-Clause
# The wall clock where threads are ready to run but have no processor: eight threads on one. Nothing here depends on
# other work on the machine: what runs has CPU time.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/e2e/wall-ready-host

LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" WALLPROFILE_FREQUENCY=100 "$host" 4 >"$work/out" 2>"$work/err" || fail "status $?"
check_valid_as wall "$work/w.pb"
read -r cpu lived main_ran main_ready ready <"$work/out"

sum() { # what
	"$pprof_check" --raw "$work/w.pb" | grep -E -- "$1" | awk -F '[,\t]' '{ s += $2 } END { printf "%.0f\n", s }'
}
# By the clocks of the threads, to the nanosecond; ends are read a moment apart.
near() { # what got wanted
	awk -v got="$2" -v wanted="$3" 'BEGIN { off = got - wanted; exit off * off > (wanted / 100 + 5e6) * (wanted / 100 + 5e6) }' ||
		fail "$1: $2 ns, by the clocks $3"
}
worker='(worker|not sampled.*worker);' main='[ ;	](main|_start)(;|$)'
waits=$(sum 'state=waiting.*pthread_mutex_lock') woken=$(sum 'state=runnable.*pthread_mutex_lock')
echo "cpu $cpu lived $lived; running $(sum "state=running.*$worker") runnable $(sum state=runnable) waiting for the lock $waits, woken $woken;" \
	"alone $(sum '[ ;	]alone;') beside $(sum '[ ;	]beside;'); main ran $main_ran, was ready for $main_ready"
near "the eight are running" "$(sum "state=running.*$worker")" "$cpu"
near "the eight, which have ended, are ready to run" "$(sum "state=runnable.*$worker")" "$ready"
near "main is running" "$(sum "state=running.*$main")" "$main_ran"
near "main is ready to run" "$(sum "state=runnable.*$main")" "$main_ready"
[ "$(sum 'state=runnable.*(alone|beside);')" -gt 0 ] || fail "no thread that lost its processor stands where it ran"
[ "$woken" -gt 0 ] || fail "no thread that was woken stands where it waited"
finish
