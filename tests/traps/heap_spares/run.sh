#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: glibc's malloc begins blocks where sampled ones were, and after some thousand samples one ordinary block in ten
# has the look of a sampled one, for which free can't be told by a jump. The sampled blocks that are freed are there for the next
# samples; one that the program frees twice is the allocator's to tell, as without us.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"
use_allocator glibc
export CPROF_HEAP_INTERVAL=64K

# 80 by chance, and 40 samples; 900 where each sample leaves its place.
heap_profiled alike ./tests/traps/heap_spares/host alike
check_status alike 0
check_quiet alike
alike=$(cat "$work/alike.out")
[ "$alike" -lt 300 ] || fail "$alike of 10000 blocks look like samples"

bare bare_twice ./tests/traps/heap_spares/host twice
CPROF_FOLLOW=0 heap_profiled twice ./tests/traps/heap_spares/host twice
check_status twice 0
[ "$(cat "$work/twice.out")" = "$(cat "$work/bare_twice.out")" ] ||
	harm "$(cat "$work/twice.out") of 20 blocks that were freed twice are told, not $(cat "$work/bare_twice.out")"
finish
