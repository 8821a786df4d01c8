# SPDX-License-Identifier: BSD-3-Clause
# The event mode: page faults by stack. A program touches known numbers of pages in known functions.
. "$srcdir/tests/lib/e2e.sh"
host=$builddir/tests/e2e/event-host
limit=$bounded

event_profiled() { # name command...
	profiled_by EVENTPROFILE "$@"
}

# The events of the stacks that match, and the samples.
events() { # file regex
	"$pprof_check" --raw "$1" 2>/dev/null | awk -F'\t' -v stack="$2" '
		$3 ~ stack { split($1, v, ","); samples += v[1]; events += v[2] } END { print events + 0, samples + 0 }'
}

# A collector that is late on a busy machine loses samples, which are counted. Then a test can't be exact.
lost() { # file
	"$pprof_check" --comments "$1" 2>/dev/null |
		sed -n 's/.*lost events: \([0-9]*\) ring full, \([0-9]*\) no memory, \([0-9]*\) collector.*/\1 \2 \3/p' | awk '{ print $1 + $2 + $3 }'
}

# VALUE is WANTED, give or take LEEWAY and what the file has lost.
check_about() { # what value wanted leeway file
	local lost
	lost=$(lost "$5")
	[ "$2" -ge $(($3 - $4 - lost)) ] && [ "$2" -le $(($3 + $4)) ] || fail "$1: $2, not $3 (give or take $4)"
}

# What can't be counted is told in one line, the program runs, and the file says why.
refused() { # name reason
	check_status "$1" 0
	check_valid_as event "$work/$1.pb"
	check_comment "$work/$1.pb" "event: [a-z-]* is not possible: $2"
	[ "$(grep -c '^libcprof:' "$work/$1.err")" = 1 ] && grep -qE "is not possible \($2" "$work/$1.err" ||
		fail "$1: not one line with the reason: $(cat "$work/$1.err")"
}
perf=$builddir/tests/traps/hosts/perf-host
if "$perf" filtered true 2>/dev/null; then
	status=0
	$limit "$perf" filtered env LD_PRELOAD="$CP_LIBRARY" EVENTPROFILE="$work/filtered.pb" "$host" touches 100 \
		2>"$work/filtered.err" || status=$?
	refused filtered 'a seccomp filter is on'
fi
CPROF_EVENT=context-switches event_profiled unknown "$host" touches 100
check_status unknown 0
grep -q '^libcprof: CPROF_EVENT=context-switches: accepted is page-faults, .*; using page-faults$' "$work/unknown.err" ||
	fail "unknown: $(cat "$work/unknown.err")"

# Page faults can't be sampled each time: the kernel would begin one of them again and again. This ends.
CPROF_EVENT_PERIOD=1 event_profiled twice bash -c 'x=$(echo a)'
check_status twice 0
check_valid_as event "$work/twice.pb"

CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1 event_profiled each "$host" touches 1000
check_status each 0
check_valid_as event "$work/each.pb"
if ! "$pprof_check" --comments "$work/each.pb" | grep -q 'a sample for 1 on average, the program.s and the kernel.s part'; then
	[ "$failures" = 0 ] || finish
	skip "no perf events with the kernel's part here: $(cat "$work/each.err")"
fi
check_quiet each

# Each fault is a sample, and has its stack. The kernel's frames lead to those that it makes itself.
read -r many samples <<<"$(events "$work/each.pb" 'touches_much;touches;main')"
[ "$many" = "$samples" ] || fail "touches_much: $many events, $samples samples"
check_about touches_much "$many" 7000 0 "$work/each.pb"
read -r few _ <<<"$(events "$work/each.pb" 'touches_little;touches;main')"
check_about touches_little "$few" 2000 0 "$work/each.pb"
read -r kernel _ <<<"$(events "$work/each.pb" '.;(__)?read;has_read;touches;main')"
check_about "has_read in the kernel" "$kernel" 1000 0 "$work/each.pb"

# A sample for a hundred: turns of a hundred faults are as long as the period, and shares are right all the same. The
# leeway of four standard deviations is that of samples by chance, of which there are more here than the shares need.
event_profiled some "$host" touches 10000
check_status some 0
read -r many samples <<<"$(events "$work/some.pb" 'touches_much;touches;main')"
check_about "touches_much of 100000" "$many" 70000 5800 "$work/some.pb"
read -r few _ <<<"$(events "$work/some.pb" 'touches_little;touches;main')"
check_about "touches_little of 100000" "$few" 20000 5100 "$work/some.pb"
[ "$samples" -le 1000 ] || fail "$samples samples of 70000 faults at a period of 100"
CPROF_EVENT=minor-faults:u CPROF_EVENT_PERIOD=7 event_profiled user "$host" touches 1000
check_comment "$work/user.pb" "event: minor-faults, a sample for 7 on average, only the program's part"
[ "$("$pprof_check" --total "$work/user.pb" 2>/dev/null | awk '{ print $1 }' | tail -n 1)" = minor-faults ] ||
	fail "the type has not the event's name: $("$pprof_check" --total "$work/user.pb" 2>&1)"
[ "$(events "$work/user.pb" has_read)" = "0 0" ] || fail "the kernel's part is in minor-faults:u"

# Threads that have fewer faults than a period have their share: 300 times 20 faults at a period of 100, about 60 samples.
event_profiled threads "$host" threads 20 300
check_status threads 0
read -r many _ <<<"$(events "$work/threads.pb" 'thread_touches;thread')"
check_about "thread_touches of 6000" "$many" 6000 3100 "$work/threads.pb"

# A child has events of its own, and so has the program after exec. No signal of an event kills it.
CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1 event_profiled forks "$host" forks 500
check_status forks 0
[ "$(events "$work/forks.pb" child_touches)" = "0 0" ] || fail "the child's faults are in the parent's file"
read -r many _ <<<"$(events "$(find "$work" -name 'forks.pb.*')" child_touches)"
# And a page of data that the child takes from its parent's.
check_about child_touches "$many" 501 1 "$(find "$work" -name 'forks.pb.*')"
CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1 event_profiled execs "$host" execs 500
check_status execs 0
for part in before after; do
	for file in "$work"/execs.pb*; do events "$file" "touches_$part"; done | grep -qE '^50[01] ' ||
		fail "touches_$part: not 500 faults"
done

# Beside the CPU mode's perf events, whose signals may have the same number, and beside its timers and the wall mode's.
for engine in perf timer; do
	CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=1000 CPUPROFILE="$work/both-$engine.cpu.pb" WALLPROFILE="$work/both-$engine.wall.pb" \
		CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1 event_profiled "both-$engine" "$host" touches 2000
	check_ended "both-$engine" 0
	read -r many _ <<<"$(events "$work/both-$engine.pb" 'touches_much;touches;main')"
	# The first pages of the other modes' rings are touched by their handlers.
	check_about "touches_much beside $engine" "$many" 14000 30 "$work/both-$engine.pb"
	check_stack "$work/both-$engine.cpu.pb" 'touches_much;touches'
done

# The CPU mode's first signal is its only one. The kernel drops it while that of another event pends, which may have
# another number.
CPROF_CPU_ENGINE=perf CPUPROFILE_FREQUENCY=5 ends_well profiled pends "$host" pends 20000 "$work/pends.event.pb"
check_stack "$work/pends.pb" 'works_on;'

# A program starts it itself.
ends_well bare api env LD_PRELOAD="$CP_LIBRARY" "$host" api 900 "$work/api.pb"
[ "$(events "$work/api.pb" '^touches_(before|after|paused)')" = "0 0" ] || fail "api: faults while the mode was off"
read -r many _ <<<"$(events "$work/api.pb" 'touches_much')"
# The profiler's own faults, for the first pages of the thread's ring, lead to a hit or two more.
check_about "api: touches_much" "$many" 900 30 "$work/api.pb"

# cprof run.
(cd "$work" && CPROF_EVENT_PERIOD=1 $limit "$builddir/cprof" run --event=minor-faults -o run.pb -- "$host" touches 100) >"$work/run.out" 2>&1 ||
	fail "cprof run: $(cat "$work/run.out")"
read -r many _ <<<"$(events "$work/run.pb" 'touches_much;touches;main')"
check_about "touches_much of cprof run" "$many" 700 0 "$work/run.pb"
grep -qE "^ *$many .*touches_much" "$work/run.out" || fail "cprof run doesn't show $many page faults: $(cat "$work/run.out")"
(cd "$work" && $limit "$builddir/cprof" run -event=foo -- touch started) >"$work/wrong.out" 2>&1 && fail "cprof run -event=foo: status 0"
grep -q -- '-event=foo is no event; accepted is page-faults' "$work/wrong.out" && [ ! -e "$work/started" ] ||
	fail "cprof run -event=foo: $(cat "$work/wrong.out")"
finish
