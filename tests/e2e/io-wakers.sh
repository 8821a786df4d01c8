# SPDX-License-Identifier: BSD-3-Clause
# NAME.wakers.EXT of the I/O mode, with CPROF_IO_WAKERS=1: for reads of a pipe and of an eventfd, the stack that waits and
# the stack that writes, with the shares that the program gives to its two writers.
. "$srcdir/tests/lib/lock.sh"

io_profiled() { # name kind [variable=value...]
	name=$1 kind=$2
	shift 2
	status=0
	rm -f "$work/$name."*pb*
	env LD_PRELOAD="$CP_LIBRARY" IOPROFILE="$work/$name.pb" "$@" ./tests/e2e/lock-wakers-host \
		"$kind" >"$work/$name.out" 2>"$work/$name.err" || status=$?
}

# As in lock-wakers.sh: the program times around the wait.
check_of_waker() { # name waker leaf waits ns
	read -r waits ns <<<"$(lock_values "$work/$1.wakers.pb" "^$3;([^]]*;)?$2(;[^]]*)?;\[woken by\];$4;")"
	awk -v waits="$waits" -v most="$5" -v ns="$ns" -v around="$6" 'BEGIN {
		exit !(waits > 0 && waits <= most && waits >= most - 4 && ns <= around && ns * 10 >= around * 7) }' ||
		fail "$1: $2 ended $waits waits of $ns ns, not $5 of $6"
}

for kind in pipe eventfd number; do
	leaf=write waits_in=read
	[ $kind = number ] && leaf=syscall waits_in=syscall
	runs_well io_profiled $kind $kind CPROF_IO_WAKERS=1
	check_valid_as io "$work/$kind.pb" "$work/$kind.wakers.pb"
	read -r _ a b <"$work/$kind.out"
	check_of_waker $kind producer_a $leaf $waits_in 28 "$a"
	check_of_waker $kind producer_b $leaf $waits_in 12 "$b"
done
"$pprof_check" --raw "$work/eventfd.wakers.pb" 2>/dev/null | grep -q 'kind=eventfd' || fail "the kind isn't told"
"$pprof_check" --raw "$work/pipe.wakers.pb" 2>/dev/null | grep -q 'kind=pipe' || fail "the kind isn't told"

# Nobody asked for it.
ends_well io_profiled off pipe
[ ! -e "$work/off.wakers.pb" ] || fail "a file of wakers that nobody asked for"
finish
