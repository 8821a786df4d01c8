#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: a sampled block has more room than others, the program sees that and gives it back: all
# sampled blocks, and no other, are reallocated, and vanish from the profile.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	heap_profiled usable ./tests/traps/hosts/heap-odd usable
	check_status usable 0
	# Here the others' sampled blocks have more room than they say, and glibc's are as they are.
	if [ "$allocator" = glibc ]; then
		bare usable-bare ./tests/traps/hosts/heap-odd usable
		check_same_output usable usable-bare
	fi
	check_quiet usable
	# 381 samples are expected: a sixth of that is what chance doesn't explain.
	read -r _ _ _ bytes <<<"$(heap_values "$work/usable.pb" site_trimmed)"
	[ "$bytes" -gt 140000000 ] && [ "$bytes" -lt 260000000 ] ||
		fail "$allocator: $bytes bytes in use, not 200000000"
done
finish
