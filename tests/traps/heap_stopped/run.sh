#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: a sampled block, which is larger than the program believes, is deleted with its size when
# nobody looks any longer: after a stop, before or after a run in exact mode, in a fork child that is left alone. jemalloc and tcmalloc
# then put it where blocks of that size are.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

export AGAIN="$work/again.pb" CPROF_HEAP_INTERVAL=64K
for allocator in $(allocators); do
	use_allocator "$allocator"
	for how in stop restart exact fork; do
		CPROF_FOLLOW=$([ $how = fork ] && echo 0 || echo 1) \
			heap_profiled "$how" ./tests/traps/heap_stopped/host "$how"
		check_status "$how" 0
		[ "$status" = 0 ] || echo "$allocator, $how: $(cat "$work/$how.out")" >&2
		check_quiet "$how"
		check_heap "$work/$how.pb"
		[ $how != exact ] || [ "$(heap_values "$AGAIN" . | cut -d ' ' -f 1)" -ge 1000 ] ||
			fail "$allocator: the exact run has $(heap_values "$AGAIN" .) of 1000 blocks"
	done
	# With samples so rare that the thread has none.
	CPROF_HEAP_INTERVAL=1G heap_profiled others ./tests/traps/heap_stopped/host others
	check_status others 0
	check_quiet others
	check_heap "$AGAIN"
	read -r blocks _ <<<"$(heap_values "$AGAIN" .)"
	[ "$blocks" -ge 1000 ] || fail "$allocator: the exact run has $blocks of the other thread's 1000 blocks"
	# The other way round: a draw in exact mode is of no use for a run with tags.
	CPROF_HEAP_INTERVAL=1 heap_profiled from-exact ./tests/traps/heap_stopped/host restart
	check_status from-exact 0
	check_quiet from-exact
	check_heap "$AGAIN"
	read -r _ _ live _ <<<"$(heap_values "$AGAIN" fill)"
	[ "$live" = 0 ] || fail "$allocator: $live blocks of the second run are in use after their deletes"
done
finish
