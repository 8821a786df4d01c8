#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the heap mode's further views cost: nanoseconds of a malloc+free pair more than with the heap mode alone, at the
# default interval, over each allocator that is installed, one thread. Configurations take short turns on one processor,
# ROUNDS times; paired medians of the fastest quarter of slices of 0.4 ms.
set -u
rounds=${ROUNDS:-31}
library=${CP_LIBRARY:-$PWD/.libs/libcprof.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "${srcdir:-$(dirname "$0")/..}/bench/lib.sh"
export CPROF_CHECKPOINT=0 CPROF_SYMBOLIZE=none HEAPPROFILE=$work/p.pb
cpu=$(taskset -pc $$ 2>/dev/null | sed 's/.*[-, ]//')
views='none lifetimes fragmentation all'

pair() { # allocator setting...
	env LD_PRELOAD="$library $1" "${@:2}" ${cpu:+taskset -c "$cpu"} ./bench/heap-pair 1 1 0.05 400 25
}

one() { # view allocator
	case $1 in
	none) pair "$2" A=1 ;;
	lifetimes) pair "$2" CPROF_HEAP_VIEWS=lifetimes ;;
	fragmentation) pair "$2" CPROF_HEAP_VIEWS=fragmentation ;;
	all) pair "$2" CPROF_HEAP_VIEWS=resident,lifetimes,fragmentation ;;
	esac
}

installed() { ! LD_PRELOAD=$1 sh -c : 2>&1 | grep -q .; }

for allocator in "" libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	[ -z "$allocator" ] || installed "$allocator" || continue
	rm -f "$work"/*.times
	for _ in $(seq "$rounds"); do
		for view in $views; do one "$view" "$allocator" >>"$work/$view.times"; done
	done
	for view in $views; do
		[ "$view" != none ] || continue
		paste "$work/none.times" "$work/$view.times" | awk '{ print $2 - $1 }' |
			say_record heap-views +ns "allocator=${allocator:-glibc}" "by=$view"
	done
done
exit 0
