#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The time index: what a program did in its phases comes back in these phases, in each mode; so do its spans, and the
# blocks that it allocated and freed; a fork child begins its own; without CPROF_TIMES, and in windows, there is none.
. "$srcdir/tests/lib/e2e.sh"
host=$builddir/tests/e2e/times-host
cd "$work"

# The events of FILE in whose stack PHASE is are within the time that the program printed of it, give or take 20 ms, and
# their weight is at least LEAST ns. OUTSIDE: this part of it may be elsewhere.
within() { # file phase truth least [outside]
	"$pprof_check" --times "$1" | awk -v phase="$2" -v least="$4" -v outside="${5:-0}" '
		NR == FNR { if ($1 == phase) { from = $2; to = $3 } next }
		$1 == "start" { start = $2 }
		$1 == "event" && index($0, phase) {
			begin = start + $2
			if (begin < from - 2e7 || begin + $3 > to + 2e7) {
				said = said "from " (begin - from) / 1e6 " ms, for " $3 / 1e6 " ms of " (to - from) / 1e6 "\n"
				astray += $4
			}
			sum += $4
			count++
		}
		END {
			if (astray > outside * sum) printf "%s", said
			if (sum < least) print count + 0, "events with", sum + 0, "ns" }' "$3" - >said
	[ ! -s said ] || fail "$1, $2: $(cat said)"
}

# Spans of FILE last as long as the program printed of its phases; short ones are counted right.
spans() { # file truth
	"$pprof_check" --times "$1" | awk '
		NR == FNR { if (NF == 5 && $3 - $2 > 5e7) { from[$1] = $2; to[$1] = $3; late[$1] = $4; early[$1] = $5; phases++ } next }
		$1 == "start" { start = $2 }
		$1 == "span" && $NF == "short" { short += $4 }
		$1 == "span" && $NF in from {
			begin = start + $2
			if (begin < from[$NF] - 2e7 || begin > late[$NF] + 2e7 || begin + $3 < early[$NF] - 2e7 || begin + $3 > to[$NF] + 2e7)
				print $NF, "from", (begin - from[$NF]) / 1e6, "ms, for", $3 / 1e6, "ms"
			found++
		}
		END { if (found != phases) print found + 0, "spans of", phases
			if (short < 500 || short > 3500) print short + 0, "short spans" }' "$2" - >said
	[ ! -s said ] || fail "$1, spans: $(cat said)"
}

# In FILE another thread ends the wait of PHASE in FUNCTION when the program says so, once.
wakes() { # file phase truth function
	"$pprof_check" --times "$1" | awk -v phase="$2" -v in_function="$4" '
		NR == FNR { if ($1 == phase ":" in_function) { from = $2; to = $3 } next }
		$1 == "start" { start = $2 }
		$1 == "thread" { known[$2] = 1 }
		$1 == "wake" && index($0, phase) && index($0, in_function) {
			if (start + $2 < from - 2e7 || start + $2 > to + 2e7) print "a wake", (start + $2 - from) / 1e6, "ms after its end, of", (to - from) / 1e6
			if ($3 == $5 || !known[$5]) print "woken by", $5
			count++
		}
		END { if (count != 1) print count + 0, "wakes" }' "$3" - >said
	[ ! -s said ] || fail "$1, wakes in $2: $(cat said) $("$pprof_check" --times "$1" | grep ^wake)"
}

# Blocks of FILE: 10 MiB are born in phase_heap, and die in phase_free.
blocks() { # file truth
	within "$1" phase_heap "$2" 8e6
	"$pprof_check" --times "$1" | awk '
		NR == FNR { if ($1 == "phase_free") { from = $2; to = $3 } next }
		$1 == "start" { start = $2 }
		$1 == "event" && index($0, "phase_heap") { births += $4 }
		$1 == "death" && index($0, "phase_heap") {
			deaths += $4
			if (start + $2 < from - 2e7 || start + $2 > to + 2e7) print "a death at", (start + $2 - from) / 1e6, "ms"
		}
		END { if (births != deaths) print births + 0, "bytes were born,", deaths + 0, "died" }' "$2" - >said
	[ ! -s said ] || fail "$1, blocks: $(cat said)"
}

run() { # name settings... -- arguments...
	local name=$1
	shift
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE_FREQUENCY=500 CPUPROFILE=$name.cpu.pb LOCKPROFILE=$name.lock.pb IOPROFILE=$name.io.pb \
		CPROF_IO_WAKERS=1 HEAPPROFILE=$name.heap.pb CPROF_HEAP_INTERVAL=32K WALLPROFILE=$name.wall.pb WALLPROFILE_FREQUENCY=500 \
		"$@" >$name.out 2>$name.err || fail "$name: exit status $?"
	check_quiet $name
}
check_all() { # name truth
	check_valid_as cpu $1.cpu.pb
	check_valid_as lock $1.lock.pb
	check_valid_as io $1.io.pb
	within $1.cpu.pb phase_cpu "$2" 3e7
	within $1.lock.pb phase_lock "$2" 1e8
	within $1.io.pb phase_io "$2" 1e8
	blocks $1.heap.pb "$2"
	# Where processors are scarce, time without a stack of its own goes to the last one.
	for phase in phase_cpu phase_lock phase_io; do within $1.wall.pb $phase "$2" 1e8 0.25; done
	for mode in cpu lock io heap wall; do spans $1.$mode.pb "$2"; done
	# The same moment has the same time in each.
	for file in $1.*.pb; do "$pprof_check" --times "$file" | sed -n 's/^start \([0-9]*\).*/\1/p'; done | sort -u >zeros
	[ "$(wc -l <zeros)" = 1 ] && [ "$(cat zeros)" != 0 ] || fail "$1: several zeros: $(cat zeros)"
	# The other side of the waits, too: who held the lock, and who ended the waits.
	for view in lock.holders lock.wakers io.wakers; do check_valid_as ${view%.*} $1.$view.pb; done
	sed s,phase_lock,hold, "$2" >hold.out
	within $1.lock.holders.pb hold hold.out 1e8
	within $1.io.wakers.pb phase_io "$2" 1e8
	wakes $1.lock.pb phase_lock "$2" pthread_mutex_lock
	wakes $1.io.wakers.pb phase_io "$2" read
	wakes $1.lock.wakers.pb phase_lock "$2" pthread_join
	for view in lock lock.holders lock.wakers; do
		"$pprof_check" --times $1.$view.pb | awk '$1 == "thread" && $2 && seen[$2]++ { exit 1 }' || fail "$1, $view: a thread is there twice"
	done
}

run one "$host"
check_all one one.out
"$pprof_check" --times one.cpu.pb | awk '/^counter/ { rss = $3; cpu = $4 } END { exit !(rss > 0 && cpu >= 1e8) }' ||
	fail "the counters: $("$pprof_check" --times one.cpu.pb | grep ^counter)"
# The thread that writes lived for the last phase.
"$pprof_check" --times one.io.pb | awk '$1 == "thread" && $NF == "begun" && $4 < 3e8 && $5 < $4 + 1e8 { exit 1 }' || fail "a thread's life"

# Other viewers get the wakes of both files.
if [ -x "$builddir/cprof" ]; then
	"$cprof" convert -to=firefox -o one.json one.lock.pb one.lock.wakers.pb || fail "convert: $?"
	[ "$(grep -o '"type": *"wake"' one.json | wc -l)" -ge 2 ] || fail "convert: wakes: $(grep -c wake one.json)"
fi

# However often it is visited, a thread that waits makes one event; a few, if it runs in between.
n=$("$pprof_check" --times one.wall.pb | grep -c '^event.*phase_io')
[ "$n" -lt 15 ] || fail "wall: $n events of one wait"

# A flight recorder has only the last half second, all of that, and all sums. One block of many may be no sample.
run keep CPROF_TIMES=500ms "$host"
for mode in cpu wall heap; do
	check_valid_as $mode keep.$mode.pb
	"$pprof_check" --times keep.$mode.pb | awk -v mode=$mode '
		NR == FNR { if ($1 == "freed") at[blocks++] = $2; if ($1 == "phase_free") ended = $5; next }
		$1 == "start" { since = $4 - 5e8; from = $2 + since; recorded = $NF }
		($1 == "event" || $1 == "death") && $2 + ($1 == "event" ? $3 : 0) < since { old++ }
		$1 == "span" && $2 + $3 < since { old++ }
		$1 == "span" && $NF == "phase_free" { free++ }
		$1 == "death" { deaths++ }
		END {
			for (i = 0; i < blocks; i++) due += at[i] > from
			exit !(!old && recorded && (free || ended <= from) && (mode != "heap" || deaths >= due - 1))
		}' keep.out - || fail "keep, $mode: $("$pprof_check" --times keep.$mode.pb | grep -v ^thread)"
done

run off CPROF_TIMES=off "$host"
for mode in cpu lock io heap wall; do
	[ -z "$("$pprof_check" --times off.$mode.pb)" ] || fail "off: $mode has times"
done

run parent "$host" fork child.out
# Others may have one, too: in a build directory the program is begun by a script of libtool.
read -r child ended <<<"$(sed -n 's/^child //p' parent.out)"
suffix=.pb.$child
[ -e "parent.cpu$suffix" ] || fail "the child has no file: $(ls)"
check_all parent parent.out
for mode in cpu lock io; do
	within "parent.$mode$suffix" phase_$mode child.out 3e7
	"$pprof_check" --times "parent.$mode$suffix" | awk -v ended="$ended" '
		$1 == "start" { start = $2 }
		$1 == "event" && start + $2 > ended { exit 1 }' || fail "$mode: the child's start"
done
blocks "parent.heap$suffix" child.out
spans "parent.heap$suffix" child.out
finish
