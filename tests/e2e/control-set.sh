# SPDX-License-Identifier: BSD-3-Clause
# cprof set: other rates and thresholds while modes run. What was recorded before keeps its weight, so totals are right;
# the files tell what was set; bad values are refused, and change nothing.
. "$srcdir/tests/lib/control.sh"
cd "$work"

sum() { # file column
	"$pprof_check" --raw "$1" | awk -F'\t' -v c="$2" '{ split($1, v, ","); sum += v[c] } END { printf "%.0f\n", sum }'
}

between() { # what value low high
	[ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || fail "$1: $2 is not between $3 and $4"
}

# Modes of the environment.
host all CPUPROFILE="$work/cpu.pb" WALLPROFILE="$work/wall.pb" HEAPPROFILE="$work/heap.pb" LOCKPROFILE="$work/lock.pb" \
	IOPROFILE="$work/io.pb" CPROF_HEAP_INTERVAL=64K CPUPROFILE_FREQUENCY=100
wait_for 60 lists $pid cpu,wall,heap,lock,io || fail "no control socket"
tell burn 0.3
tell allocate 10000
tell contend 3
cprof some set -cpu=1000 -wall=500 -heap=2K -lock=50ms $pid
check_status some 0
says some "^process $pid: CPUPROFILE_FREQUENCY=1000, before: 100\$"
says some "^process $pid: CPROF_HEAP_INTERVAL=2048, before: 65536\$"
says some "^process $pid: CPROF_LOCK_THRESHOLD=50ms, before: 1us\$"
tell burn 0.3
tell allocate 10000
tell contend 3
cprof cpu set -cpu=250 $pid
tell burn 0.3
cprof cpu set -cpu=2000 $pid
tell burn 0.3
# Values that are not taken, and what is allowed.
cprof high set -cpu=10001 $pid
refused high 'CPUPROFILE_FREQUENCY=10001: accepted is 1 to 10000 samples per CPU second'
cprof word set -wall=often $pid
refused word 'WALLPROFILE_FREQUENCY=often: accepted is 1 to 1000 samples per second'
cprof size set -heap=2G $pid
refused size 'CPROF_HEAP_INTERVAL=2G: accepted is a size'
cprof every set -heap=1 $pid
refused every 'heap: to or from every allocation .* only by cprof stop and cprof start'
cprof half set -heap=4K -heap-budget=often $pid
refused half 'CPROF_HEAP_BUDGET=often: accepted is 0 to 1000000'
cprof empty set -cpu= $pid
refused empty 'has no value'
cprof nothing set $pid
refused nothing 'give a setting'
cprof whom set -cpu=99
refused whom 'give a process id'
cprof who set -cpu=99 hello
refused who '"hello" is no process id'
cprof budget set -heap-budget=100000 $pid
check_status budget 0
says budget "^process $pid: CPROF_HEAP_BUDGET=100000, before: 0\$"
cprof share set -heap-budget=1% $pid
says share "^process $pid: CPROF_HEAP_BUDGET=1%, before: 100000\$"
cprof off set -heap-budget=0 $pid
says off "^process $pid: CPROF_HEAP_BUDGET=0, before: 1%\$"
cprof many set -heap-budget=101% $pid
refused many 'CPROF_HEAP_BUDGET=101%: accepted is 0 to 1000000 samples a second, or 1% to 100% of the CPU time .0: the interval stays.$'
cprof again set -heap-budget=100000 $pid
says again "^process $pid: CPROF_HEAP_BUDGET=100000, before: 0\$"
tell allocate 10
end_host
check_status all 0
[ ! -s all.err ] || fail "all says: $(cat all.err)"
for mode in cpu wall heap lock io; do
	check_valid_as $mode $mode.pb
done
check_comment cpu.pb 'cpu: frequency 2000 Hz'
check_comment cpu.pb 'set: [0-9.]+ s after the start: CPUPROFILE_FREQUENCY=1000, before: 100$'
check_comment cpu.pb 'set: [0-9.]+ s after the start: CPUPROFILE_FREQUENCY=2000, before: 250$'
check_comment wall.pb 'WALLPROFILE_FREQUENCY=500, before: 50$'
check_comment heap.pb 'heap: interval 2048 bytes'
check_comment heap.pb 'heap: budget 100000 samples a second'
check_comment lock.pb 'lock: threshold 50000000 ns$'
check_comment lock.holders.pb 'CPROF_LOCK_THRESHOLD=50ms, before: 1us'
# 1.2 s of burning and what else there is. Each change leaves a part of a period before and after it to chance.
used=$("$pprof_check" --raw cpu.pb | wc -l)
[ "$used" -gt 0 ] || fail "cpu.pb has no rows"
used=$("$cprof" info cpu.pb | sed -nE 's/.*cpu time: ([0-9]+)\.([0-9]+) s used.*/\1\2/p')
periods=$((10 + 10 + 1 + 1 + 4 + 4 + 1 + 1))
between "CPU ms" $(($(sum cpu.pb 2) / 1000000)) $((10#$used - periods - 60)) $((10#$used + periods + 20))
# 20 MB. Half of it by samples of 64K each: a standard deviation of 0.8 MB.
between "allocated bytes" "$(sum heap.pb 2)" 15000000 26000000
# A mode of cprof start, and one of the API; a mode that is off.
listed_host late - CPROF_CONTROL=on
cprof off set -cpu=1000 $pid
refused off 'cpu: it is not on'
cprof begin start -cpu -o "$work/late.pb" $pid
cprof later set -cpu=1000 $pid
check_status later 0
tell burn 0.2
cprof stop stop $pid
check_comment late.pb 'CPUPROFILE_FREQUENCY=1000, before: 99$'
tell start "$work/api.pb"
cprof api set -cpu=500 $pid
check_status api 0
tell burn 0.1
tell fork
tell stop
check_comment api.pb 'CPUPROFILE_FREQUENCY=500, before: 99$'
end_host
# A rate that is far higher: what the slow one left to chance is not subtracted once more, nor added, from thread to thread.
listed_host slow cpu CPUPROFILE="$work/slow.pb" CPUPROFILE_FREQUENCY=1
cprof faster set -cpu=10000 $pid
check_status faster 0
tell end-work 0.4
tell contend 1
end_host
burnt=$(sum slow.pb 2)
ends=$("$pprof_check" --raw slow.pb | awk -F'\t' '/\[not sampled\]/ { split($1, v, ","); sum += v[2] } END { printf "%.0f\n", sum }')
echo "slow: $burnt ns, of which [not sampled] $ends ns"
[ $((burnt - ends)) -ge 380000000 ] || fail "slow: $((burnt - ends)) ns of 400000000 ns"
[ "$ends" -le 20000000 ] || fail "slow: $ends ns of the ends of threads"
# A rate that is far lower: what threads had missed when they ended isn't so many of its periods.
listed_host fast cpu CPUPROFILE="$work/fast.pb" CPUPROFILE_FREQUENCY=10000
tell contend 200
cprof lower set -cpu=1 $pid
check_status lower 0
end_host
burnt=$(sum fast.pb 2)
echo "fast: $burnt ns"
[ "$burnt" -le 3000000000 ] || fail "fast: $burnt ns of less than a second"
# What the kernel has not looked at is in the next file, once, and not in the next run.
cpu_is_whole() { # name
	between "$1: CPU ms" $(($(sum "$1.pb" 2) / 1000000)) $((10#$(used_ms "$1") - 30)) $((10#$(used_ms "$1") + 30))
}
used_ms() { # name
	"$cprof" info "$1.pb" | sed -nE 's/.*cpu time: ([0-9]+)\.([0-9]+) s used.*/\1\2/p'
}
listed_host owes - CPROF_CONTROL=on
cprof first start -cpu=1000 -o "$work/first.pb" $pid
check_status first 0
tell end-work 0.1
tell stop-timers
tell burn 0.3
cprof told dump $pid
check_status told 0
cprof owed set -cpu=500 $pid
check_status owed 0
tell stop-timers
tell burn 0.2
cprof ends stop $pid
cpu_is_whole first
cprof second start -cpu=1000 -o "$work/second.pb" $pid
check_status second 0
tell end-work 0.1
for _ in $(seq 40); do
	tell burn 0.01
	cprof told dump $pid
done
cprof ends stop $pid
cpu_is_whole second
end_host
# No time is lost while the clocks of many threads are changed.
listed_host many - CPROF_CONTROL=on
tell thread 800
cprof begin start -cpu=1000 -o "$work/many.pb" $pid
check_status begin 0
before=$(wc -l <"$work/$hosted.out")
echo "end-work 1" >&$told
sets=0
until has_done "$before" "end-work 1" || [ $sets = 500 ]; do
	cprof rate set -cpu=$((900 + sets % 2 * 100)) $pid
	check_status rate 0
	sets=$((sets + 1))
done
cprof ends stop $pid
burnt=$(($(sum many.pb 2) / 1000000))
used=$("$cprof" info many.pb | sed -nE 's/.*cpu time: ([0-9]+)\.([0-9]+) s used.*/\1\2/p')
used=$((10#$used))
echo "many: $sets changes; $burnt ms of $used ms"
[ $burnt -ge $((used * 97 / 100)) ] || fail "many: $burnt ms of $used ms in $sets changes"
end_host
# Every allocation: no budget. And an event's period: the sum of the faults stays right.
listed_host exact heap,event HEAPPROFILE="$work/exact.pb" CPROF_HEAP_INTERVAL=1 EVENTPROFILE="$work/event.pb" CPROF_EVENT=minor-faults:u CPROF_EVENT_PERIOD=1
cprof exact-budget set -heap-budget=10 $pid
refused exact-budget 'every allocation is recorded'
tell allocate 10000
cprof period set -event-period=5 $pid
check_status period 0
says period "^process $pid: CPROF_EVENT_PERIOD=5, before: 1\$"
tell allocate 10000
cprof never set -event-period=0 $pid
refused never 'CPROF_EVENT_PERIOD=0: accepted is 1 to 1000000000 events'
end_host
[ ! -s exact.err ] || fail "exact says: $(cat exact.err)"
check_comment event.pb 'CPROF_EVENT_PERIOD=5, before: 1$'
if ! "$cprof" info event.pb | grep -q 'is not possible'; then
	check_comment event.pb 'event: .*minor-faults.*, a sample for 5 on average'
	rows() { "$pprof_check" --raw event.pb | awk -F'\t' -v o="$1" '{ split($1, v, ","); if (v[1] && v[2] / v[1] == o) n++ } END { print n + 0 }'; }
	[ "$(rows 1)" -gt 0 ] || fail "no row has the weight of before"
	"$pprof_check" --raw event.pb | awk -F'\t' '{ split($1, v, ","); if (v[2] > v[1]) n++ } END { exit !n }' || fail "no row has the weight of afterwards"
fi
finish
