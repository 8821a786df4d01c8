# SPDX-License-Identifier: BSD-3-Clause
# Trap: fork children go on where their parent was: all of them sample the same of what they all do, so that their
# sum is as far off as each of them; or no dump is due before they have allocated as much as their parent.
. "$srcdir/tests/lib/heap.sh"

runs_well heap_profiled alike ./tests/traps/heap_forks/host alike
# Of 64 blocks each, some 11 are samples.
different=$(for file in "$work"/alike.pb.*; do heap_values "$file" site_child; done | sort -u | wc -l)
[ "$different" -gt 1 ] || fail "twelve children have $different different numbers of samples"

# One by one, as nobody else serves what is due.
CPROF_HEAP_INTERVAL=1 HEAP_PROFILE_ALLOCATION_INTERVAL=1M runs_well heap_profiled less ./tests/traps/heap_forks/host less
child=$(ls "$work"/less.pb.* 2>/dev/null | head -n 1)
[ -n "$child" ] || fail "no profile of the child"
dump=$work/less.0001.pb.${child##*.}
[ -s "$dump" ] || fail "the child has allocated 3.5 MB, and there is no dump: $(cd "$work" && echo less*)"
check_heap "$child" "$dump"
finish
