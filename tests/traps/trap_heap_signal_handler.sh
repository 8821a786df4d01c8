#!/bin/bash
# Trap: the profiler is interrupted, in the middle of a sample, by a handler that allocates, too.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

limit=$bounded
for interval in 1 4K 512K; do
	CPROF_HEAP_INTERVAL=$interval CPUPROFILE="$work/cpu.pb" CPUPROFILE_FREQUENCY=1000 \
		heap_profiled handler ./tests/traps/heap-odd handler
	check_status handler 0
	check_quiet handler
	check_heap "$work/handler.pb"
	read -r objects _ live _ <<<"$(heap_values "$work/handler.pb" 'handler|on_alarm')"
	[ "$live" = 0 ] || fail "interval $interval: $live objects in use"
done
finish
