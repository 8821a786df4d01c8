#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: glibc cuts an aligned block out of a larger one, and the pieces fit nothing else. If every sampled block were
# aligned for free to recognize it, the heap of a program whose blocks of some KiB fit exactly would grow to almost twice
# its size in 12,000 samples.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"
use_allocator glibc

for alignment in 0 64; do
	bare alone ./tests/traps/heap_arenas/host $alignment
	heap_profiled sampled ./tests/traps/heap_arenas/host $alignment
	check_status sampled 0
	check_quiet sampled
	alone=$(cat "$work/alone.out") sampled=$(cat "$work/sampled.out")
	# The smallest of the sizes is aligned, and its spares are kept: a few per cent.
	[ "$sampled" -le $((alone + alone / 4)) ] ||
		harm "alignment $alignment: the heap takes $sampled KiB, not $alone"
done
finish
