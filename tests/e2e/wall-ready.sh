# SPDX-License-Identifier: BSD-3-Clause
# The wall clock where threads are ready to run but have no processor: eight threads on one. Nothing here depends on
# other work on the machine: what runs has CPU time.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/e2e/wall-ready-host

LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" WALLPROFILE_FREQUENCY=100 "$host" 4 >"$work/out" 2>"$work/err" || fail "status $?"
check_valid_as wall "$work/w.pb"
read -r cpu lived ran_least ran_most main_least main_most least most <"$work/out"

sum() { # what
	"$pprof_check" --raw "$work/w.pb" | grep -E -- "$1" | awk -F '[,\t]' '{ s += $2 } END { printf "%.0f\n", s }'
}
# By the clocks of the threads, to the nanosecond; those of the profile are read between theirs.
within() { # what got least most
	awk -v got="$2" -v least="$3" -v most="$4" 'BEGIN { exit !(least > 0 && got >= least - 1e6 && got <= most + 1e6) }' ||
		fail "$1: $2 ns, by the clocks $3 to $4"
}
worker='(worker|not sampled.*worker);' main='[ ;	](main|_start)(;|$)'
waits=$(sum 'state=waiting.*pthread_mutex_lock') woken=$(sum 'state=runnable.*pthread_mutex_lock')
echo "cpu $cpu lived $lived; running $(sum "state=running.*$worker") runnable $(sum state=runnable) waiting for the lock $waits, woken $woken;" \
	"alone $(sum '[ ;	]alone;') beside $(sum '[ ;	]beside;'); main ran $ran_least to $ran_most," \
	"was ready for $main_least to $main_most, the eight for $least to $most"
within "the eight are running" "$(sum "state=running.*$worker")" "$cpu" $((cpu + cpu / 100))
within "the eight, which have ended, are ready to run" "$(sum "state=runnable.*$worker")" "$least" "$most"
within "main is running" "$(sum "state=running.*$main")" "$ran_least" "$ran_most"
within "main is ready to run" "$(sum "state=runnable.*$main")" "$main_least" "$main_most"
[ "$(sum 'state=runnable.*(alone|beside);')" -gt 0 ] || fail "no thread that lost its processor stands where it ran"
[ "$woken" -gt 0 ] || fail "no thread that was woken stands where it waited"
finish
