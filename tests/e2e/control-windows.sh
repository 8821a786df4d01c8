#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Windows of a running process (tools/control/control.h), taken by several at once: nothing is missing, nothing is in two
# windows, whatever the others do; a mode that was turned on for windows keeps nothing and ends with the last of them.
. "$srcdir/tests/lib/control.sh"
cd "$work"
takes=$builddir/tests/tools/take-windows

# Opens windows of MODE, called NAME.
open_windows() { # name mode [setting]
	local name=$1
	shift
	mkfifo "$name.in"
	(for fd in ${opened:-}; do eval "exec $fd>&-"; done; exec "$takes" $pid "$@") <"$name.in" >"$name.out" 2>"$name.err" &
	eval "taker_$name=$!"
	owns $!
	exec {fd}>"$name.in"
	eval "in_$name=$fd"
	opened="${opened:-} $fd"
	wait_for 60 [ -s "$name.out" ] || fail "$name doesn't open"
}

# Takes the next window of NAME into NAME.N.pb, N from 1. The answer is in $answer.
take() { # name
	local to=in_$1 lines
	lines=$(wc -l <"$1.out")
	echo "$1.$lines.pb" >&"${!to}"
	wait_for 60 has_lines "$1.out" $((lines + 1)) || fail "$1 takes nothing: $(cat "$1.err")"
	answer=$(tail -n 1 "$1.out")
	[ -z "$("$pprof_check" --times "$1.$lines.pb" 2>/dev/null)" ] || fail "a window has a time index"
}

has_lines() { # file count
	[ "$(wc -l <"$1")" -ge "$2" ]
}

close_windows() { # name
	local to=in_$1 taker=taker_$1
	exec {fd}>&"${!to}"
	eval "exec ${!to}>&- $fd>&-"
	reap "${!taker}"
	check_status "$1" 0
}

# The sums of a value over windows: of the rows that match $only.
only=
sum() { # column file...
	local column=$1
	shift
	for file; do
		"$pprof_check" --raw "$file"
	done | awk -F'\t' -v c="$column" -v only="$only" '$0 ~ only { split($1, v, ","); sum += v[c] } END { printf "%d\n", sum }'
}

same_sums() { # what column file... -- file...
	local what=$1 column=$2 left=() one other
	shift 2
	while [ "$1" != -- ]; do
		left+=("$1")
		shift
	done
	shift
	one=$(sum "$column" "${left[@]}") other=$(sum "$column" "$@")
	[ "$one" = "$other" ] && [ "$one" -gt 0 ] || fail "$what${only:+, $only}, value $column: $one in ${left[*]}, $other in $*"
}

# Every mode, off before: one takes four windows, another one at the end.
host all CPROF_CONTROL=on
for mode in cpu heap lock; do
	case $mode in cpu) setting=1000 ;; heap) setting=1 ;; lock) setting=1us ;; esac
	open_windows often_$mode $mode $setting
	open_windows once_$mode $mode
	grep -q '^open was off' often_$mode.out || fail "$mode: $(cat often_$mode.out)"
	grep -q '^open was on' once_$mode.out || fail "$mode, the second: $(cat once_$mode.out)"
done
work() {
	tell burn 0.15
	tell allocate 1000
	tell contend 3
	tell hand-over 3
}
work
for mode in cpu heap lock; do take often_$mode; done
for mode in cpu heap lock; do take often_$mode; done # with hardly anything in it
work
for mode in cpu heap lock; do take often_$mode; done
tell end-work 0.15
tell contend 2
for mode in cpu heap lock; do
	take often_$mode
	take once_$mode
	check_valid_as $mode often_$mode.[1-4].pb once_$mode.1.pb
	same_sums $mode 1 often_$mode.[1-4].pb -- once_$mode.1.pb
	same_sums $mode 2 often_$mode.[1-4].pb -- once_$mode.1.pb
done
same_sums holders 2 often_lock.[134].pb.holders -- once_lock.1.pb.holders
for column in 1 2; do
	same_sums wakers $column often_lock.[1-4].pb.wakers -- once_lock.1.pb.wakers
done
check_stack often_lock.1.pb.wakers 'hand_over'
check_stack often_cpu.1.pb 'burn;.*main'
check_no_stack often_cpu.1.pb end_work
check_stack often_cpu.4.pb 'burn;burn_and_tick;end_work'
check_no_stack often_cpu.4.pb 'burn;(obey;)?main'
check_stack often_lock.1.pb 'wait_for_it'
# Memory in use is that of the moment, whatever was allocated in the window.
in_use=$(sum 4 often_heap.4.pb)
[ "$in_use" -ge 1000000 ] && [ "$in_use" = "$(sum 4 once_heap.1.pb)" ] || fail "in use: $in_use"
[ "$(sum 2 often_heap.4.pb)" -lt 500000 ] || fail "allocated in a window without: $(sum 2 often_heap.4.pb)"
# One goes; the other goes on. The last one ends the mode.
close_windows often_cpu
lists $pid cpu,heap,lock || fail "one closes: $("$cprof" ps)"
tell end-work 0.1
take once_cpu
check_stack once_cpu.2.pb 'burn;burn_and_tick;end_work'
close_windows once_cpu
lists $pid heap,lock || fail "all close: $("$cprof" ps)"
for mode in heap lock; do
	close_windows often_$mode
	close_windows once_$mode
done
lists $pid - || fail "modes are left on: $("$cprof" ps)"
end_host
check_status all 0

# The wall clock: time goes on between two windows, so only what was over before them is the same in both.
host wall CPROF_CONTROL=on
open_windows often_wall wall 1000
open_windows once_wall wall
tell stuck 1
for n in 1 2; do
	tell contend 10
	tell poll 0.1
	tell burn 0.1
	take often_wall
	[ "$answer" = "window " ] || { fail "wall: $answer"; finish; }
done
take once_wall
check_valid_as wall often_wall.[12].pb once_wall.1.pb
for only in 'wait=lock.*wait_for_it' 'wait=poll.*poll_nothing' 'state=running.*burn'; do
	for value in 1 2; do
		same_sums wall $value often_wall.[12].pb -- once_wall.1.pb
	done
done
only=
for file in often_wall.[12].pb once_wall.1.pb; do
	check_stack $file 'wait=lock.*stuck'
done
close_windows often_wall
close_windows once_wall
lists $pid - || fail "wall is left on: $("$cprof" ps)"
end_host
check_status wall 0

# A mode with a file: the file has everything, whoever takes windows.
listed_host file cpu CPUPROFILE="$work/file.pb" CPUPROFILE_FREQUENCY=1000
tell burn 0.1
open_windows beside cpu
"$cprof" dump -o before.pb $pid >/dev/null || fail "no dump before"
tell end-work 0.15
take beside
tell end-work 0.15
take beside
"$cprof" dump -o after.pb $pid >/dev/null || fail "no dump after"
"$cprof" merge -o difference.pb -base=before.pb after.pb || fail "no difference"
same_sums file 1 beside.[12].pb -- difference.pb
# It executes another program, with the mode on from the start: its time is in a window, too, with what was before.
tell burn 0.2
tell_exec
wait_for 60 lists $pid cpu || fail "exec: no control socket"
tell end-work 0.2
take beside
[ "$answer" = "window " ] || fail "exec: $answer"
check_stack beside.3.pb 'burn;burn_and_tick;end_work'
ms=$("$pprof_check" --raw beside.3.pb | awk -F'\t' '{ split($1, v, ","); sum += v[2] } END { printf "%.0f", sum / 1e6 }')
# Where the kernel's ticks come late, what follows the last one is unsampled, which the comments say.
unsampled=$("$pprof_check" --comments beside.3.pb | awk '/^cpu time: .* unsampled$/ { sum += $(NF - 2) } END { printf "%.0f", sum * 1000 }')
[ $((ms + unsampled)) -ge 380 ] || fail "exec: $ms ms, $unsampled ms unsampled, not 400"
"$cprof" stop -cpu $pid >/dev/null
take beside
case $answer in "stopped "*) ;; *) fail "stop: $answer" ;; esac
end_host
take beside
case $answer in "ended process $pid has ended") ;; *) fail "end: $answer" ;; esac
close_windows beside
finish
