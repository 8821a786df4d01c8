# SPDX-License-Identifier: BSD-3-Clause
# Trap: a sampled block is freed when nobody looks any longer: after a stop, before or after a run in exact mode, in a
# fork child that is left alone. In the next run its address counts as a free that was not seen.
. "$srcdir/tests/lib/heap.sh"

export AGAIN="$work/again.pb" CPROF_HEAP_INTERVAL=64K
for allocator in $(allocators); do
	use_allocator "$allocator"
	for how in stop restart exact fork; do
		CPROF_FOLLOW=$([ $how = fork ] && echo 0 || echo 1) \
			heap_profiled "$how" ./tests/traps/heap_stopped/host "$how"
		check_ended "$how" 0
		check_heap "$work/$how.pb"
		[ $how = exact ] || continue
		[ "$(heap_values "$AGAIN" . | cut -d ' ' -f 1)" -ge 300000 ] ||
			fail "$allocator: the exact run has $(heap_values "$AGAIN" .) of 300000 blocks"
		check_comment "$AGAIN" '; 0 frees that were not seen'
	done
	# With samples so rare that the thread has none.
	CPROF_HEAP_INTERVAL=1G runs_well heap_profiled others ./tests/traps/heap_stopped/host others
	check_heap "$AGAIN"
	read -r blocks _ <<<"$(heap_values "$AGAIN" .)"
	[ "$blocks" -ge 1000 ] || fail "$allocator: the exact run has $blocks of the other thread's 1000 blocks"
	# The other way round: a draw in exact mode is of no use for a run with the filter.
	CPROF_HEAP_INTERVAL=1 runs_well heap_profiled from-exact ./tests/traps/heap_stopped/host restart
	check_heap "$AGAIN"
	read -r _ _ live _ <<<"$(heap_values "$AGAIN" fill)"
	[ "$live" = 0 ] || fail "$allocator: $live blocks of the second run are in use after their deletes"
done
finish
