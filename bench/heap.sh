#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nanoseconds a malloc+free pair: bare, with libcprof preloaded but off, at the default interval, and in
# exact mode, over each allocator that is installed, with 1, 2 and 4 threads; then exact mode by
# depth of the stack; then other profilers. Configurations take turns, ROUNDS times; medians are
# printed.
set -u
rounds=${ROUNDS:-7}
library=${CP_LIBRARY:-$PWD/.libs/libcprof.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pair=./bench/heap-pair
. "${srcdir:-$(dirname "$0")/..}/bench/lib.sh"

median() { sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "-" }'; }

one() { # configuration allocator threads depth
	case $1 in
	bare) LD_PRELOAD=$2 $pair "$3" "$4" 0.15 ;;
	off) LD_PRELOAD="$library $2" $pair "$3" "$4" 0.15 ;;
	512K) LD_PRELOAD="$library $2" HEAPPROFILE="$work/p.pb" $pair "$3" "$4" 0.15 ;;
	# The allocator's functions come first: of jemalloc, all calls are seen by its hooks.
	512K-behind) LD_PRELOAD="$2 $library" HEAPPROFILE="$work/p.pb" $pair "$3" "$4" 0.15 ;;
	exact) LD_PRELOAD="$library $2" HEAPPROFILE="$work/p.pb" CPROF_HEAP_INTERVAL=1 $pair "$3" "$4" 0.15 ;;
	# Without its dumps, which its defaults ask for every gigabyte.
	gperftools) LD_PRELOAD=libtcmalloc.so.4 HEAPPROFILE="$work/g" HEAP_PROFILE_ALLOCATION_INTERVAL=0 \
		HEAP_PROFILE_INUSE_INTERVAL=0 $pair "$3" "$4" 2 2>/dev/null ;;
	# Its own profiler, where it is built in (else it says so, and nothing is recorded).
	jemalloc-512K) LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,lg_prof_sample:19,prof_prefix:$work/j $pair "$3" "$4" 0.15 ;;
	jemalloc-exact) LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,lg_prof_sample:0,prof_prefix:$work/j $pair "$3" "$4" 0.5 ;;
	heaptrack) heaptrack -r -o "$work/h" $pair "$3" "$4" 2 2>/dev/null | grep -E '^[0-9.]+$' ;;
	esac
}

row() { # title allocator threads depth configuration...
	title=$1 allocator=$2 threads=$3 depth=$4
	shift 4
	for round in $(seq "$rounds"); do
		for c; do one "$c" "$allocator" "$threads" "$depth" >>"$work/$c.times"; done
	done
	printf '%-28s' "$title"
	for c; do
		printf ' %10s %8s' "$c" "$(median <"$work/$c.times")"
		tags="allocator=${allocator:-glibc} threads=$threads frames=$((depth + 8)) by=$c"
		record heap ns $tags <"$work/$c.times"
		# To the bare one of the same round.
		[ "$c" = bare ] || paste "$work/bare.times" "$work/$c.times" | awk '{ print $2 - $1 }' | record heap-over +ns $tags
		[ "$c" = bare ] || paste "$work/bare.times" "$work/$c.times" | awk '{ print $2 / $1 }' | record heap-times times $tags
	done
	echo
	for c; do rm -f "$work/$c.times"; done
}

installed() { ! LD_PRELOAD=$1 sh -c : 2>&1 | grep -q .; }

for threads in 1 2 4; do
	for allocator in "" libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
		[ -z "$allocator" ] || installed "$allocator" || continue
		row "${allocator:-glibc}, $threads thread(s)" "$allocator" "$threads" 1 bare off 512K exact
	done
done
for depth in 1 10 20 40; do
	row "glibc, $depth frames more" "" 1 "$depth" bare exact
done
rounds=3
installed libjemalloc.so.2 && ! LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true sh -c : 2>&1 | grep -q . &&
	row "jemalloc's own profiler" libjemalloc.so.2 1 1 bare 512K 512K-behind exact jemalloc-512K jemalloc-exact
installed libtcmalloc.so.4 && row "gperftools' heap profiler" "" 1 20 bare gperftools
command -v heaptrack >/dev/null && row "heaptrack" "" 1 20 bare heaptrack
exit 0
