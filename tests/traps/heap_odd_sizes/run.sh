# SPDX-License-Identifier: BSD-3-Clause
# Trap: empty blocks, mapped ones, sizes that overflow, alignments of a gigabyte, and invalid alignments: the program
# gets the same results and errno as without the profiler.
. "$srcdir/tests/lib/heap.sh"

for interval in 1 4K 64K 1M; do
	CPROF_HEAP_INTERVAL=$interval same_as_bare heap sizes ./tests/traps/hosts/heap-odd sizes
	check_heap "$work/sizes.pb"
done
finish
