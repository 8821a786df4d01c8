# SPDX-License-Identifier: BSD-3-Clause
# Trap: the page census misses a block or its free (an entry point that it doesn't wrap, a handler in its midst, a block that
# reaches into the next page), or the program doesn't get the block that the allocator gave. Every page is watched, over
# every allocator: nothing is left where everything is freed. A free that nobody can see is counted, and a fork child has
# only its own blocks.
. "$srcdir/tests/lib/heap.sh"
export CPROF_HEAP_VIEWS=fragmentation
watch_one_page_in 1

lost() { # file
	"$pprof_check" --comments "$1" | sed -n 's/.*lost: \([0-9]*\) blocks for .* \([0-9]*\) frees that.*/\1 \2/p'
}

for allocator in $(allocators); do
	use_allocator "$allocator"
	without=
	[[ $allocator == *jemalloc* ]] && without=pvalloc
	for interval in 512K 3000; do
		CPROF_HEAP_INTERVAL=$interval runs_well heap_profiled ways ./tests/e2e/heap-matrix 30 $without
		read -r left _ <<<"$(heap_values "$work/ways.fragmentation.pb" 'site_|chain')"
		[ "$left" = 0 ] || fail "$allocator, $interval: $left objects are left on the pages"
		[ "$(lost "$work/ways.fragmentation.pb")" = "0 0" ] || fail "$allocator, $interval: lost $(lost "$work/ways.fragmentation.pb")"
	done
done
ALLOCATOR=

limit=$bounded
CPUPROFILE="$work/cpu.pb" CPUPROFILE_FREQUENCY=1000 runs_well heap_profiled handler ./tests/traps/hosts/heap-odd handler
read -r left _ <<<"$(heap_values "$work/handler.fragmentation.pb" 'handler|on_alarm')"
[ "$left" = 0 ] || fail "handlers: $left objects are left on the pages"

runs_well heap_profiled odd ./tests/traps/heap_census/host
left() { # file site
	heap_values "$1" "$2" | cut -d ' ' -f 1
}
# What the program leaves: MADE and grown blocks, and those of the parent that the child doesn't know.
[ "$(left "$work/odd.fragmentation.pb" site_kept)" = 100 ] || fail "kept: $(left "$work/odd.fragmentation.pb" site_kept), not 100"
[ "$(left "$work/odd.fragmentation.pb" site_grown)" = 50 ] || fail "grown: $(left "$work/odd.fragmentation.pb" site_grown), not 50"
read -r _ unseen <<<"$(lost "$work/odd.fragmentation.pb")"
[ "${unseen:-0}" -ge 50 ] || fail "frees that were not seen: $unseen, not 50 or more"
child=$(find "$work" -name 'odd.fragmentation.pb.*' | head -n 1)
[ -n "$child" ] || fail "no file of the child"
[ "$(left "$child" site_child)" = 30 ] && [ "$(left "$child" site_kept)" = 0 ] ||
	fail "child: $(left "$child" site_child) of its own blocks, not 30, and $(left "$child" site_kept) of its parent's"
# The rows of its parent's stacks are none of its own profile.
parents=$("$pprof_check" --comments "$child" | sed -n 's/.*; \([0-9]*\) without a stack or of an earlier run; .*/\1/p')
[ "${parents:-0}" -ge 100 ] || fail "child: $parents blocks of its parent's without a stack, not 100 or more"
finish
