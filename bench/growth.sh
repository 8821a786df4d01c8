#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How the costs grow: with threads (1 to 10,000), depth of the stack (10 to 4,000), live blocks (10^4 to 10^7), different
# stacks (10^5, 10^6), threads that come and go, threads alive at the end. ROUNDS: of each, in which all take turns (3). GROWTH:
# some of "threads depth blocks stacks crowd alive" only. GROWTH_BLOCKS, GROWTH_THREADS, GROWTH_STACKS, GROWTH_SECONDS: other sizes.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
rounds=${ROUNDS:-3}
for tool in growth-host sample-cost run-cost; do
	$CC -O2 -D_GNU_SOURCE -fno-builtin -pthread -o "$work/$tool" "$srcdir/bench/$tool.c" || exit 1
done
gperftools=$(find_library libprofiler.so.0)
tcmalloc=$(find_library libtcmalloc.so.4)
interpret=/usr/lib/heaptrack/libexec/heaptrack_interpret

with() { # configuration command...: stdout of the command
	with_what=$1
	shift
	case $with_what in
	bare | again) "$@" ;;
	cpu) env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/g.pb" "$@" ;;
	wall) env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" "$@" ;;
	all) env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/g.pb" WALLPROFILE="$work/w.pb" HEAPPROFILE="$work/h.pb" \
		LOCKPROFILE="$work/l.pb" "$@" ;;
	six) env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/g.pb" WALLPROFILE="$work/w.pb" HEAPPROFILE="$work/h.pb" \
		LOCKPROFILE="$work/l.pb" IOPROFILE="$work/i.pb" EVENTPROFILE="$work/e.pb" "$@" ;;
	512K) env LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/h.pb" "$@" ;;
	exact) env LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/h.pb" CPROF_HEAP_INTERVAL=1 "$@" ;;
	gperftools) env LD_PRELOAD="$gperftools" CPUPROFILE="$work/g.prof" "$@" ;;
	gperftools-heap) env LD_PRELOAD="$tcmalloc" HEAPPROFILE="$work/g" HEAP_PROFILE_ALLOCATION_INTERVAL=0 \
		HEAP_PROFILE_INUSE_INTERVAL=0 "$@" ;;
	heaptrack) heaptrack -r -o "$work/ht" "$@" | grep -E '^[0-9. ]+$' ;;
	esac 2>/dev/null
	rm -f "$work"/*.pb* "$work"/g.* "$work"/ht*
}

take_turns() { # name size configuration...; into $work/NAME.CONFIGURATION
	turn_name=$1 turn_size=$2
	shift 2
	rm -f "$work/$turn_name".*
	for round in $(seq "$rounds"); do
		for c; do
			turn_began=${EPOCHREALTIME/./}
			with "$c" "$work/growth-host" "$turn_name" "$turn_size" >"$work/turn"
			echo $(((${EPOCHREALTIME/./} - turn_began) / 1000)) >>"$work/$turn_name.$c.ms"
			[ -s "$work/turn" ] || echo "$turn_name $turn_size $c: failed" # and the round has a blank line
			head -n 1 "$work/turn" | grep . >>"$work/$turn_name.$c" || echo >>"$work/$turn_name.$c"
		done
	done
}

column() { # file column
	[ ! -e "$1" ] || awk -v c="$2" 'NF { print $c }' "$1"
}

# Compared with the bare run of the same round, because other work on the machine changes from minute to minute.
over() { # name configuration fields expression
	paste "$work/$1.bare" "$work/$1.$2" | awk -v n="$3" "NF == n { print $4 }"
}

measure_threads() {
	echo "Threads"
	for n in ${GROWTH_THREADS:-1 10 100 1000 10000}; do
		[ "$n" -lt "$(ulimit -u 2>/dev/null || echo 100000)" ] 2>/dev/null || [ "$(ulimit -u)" = unlimited ] || continue
		set -- bare again cpu wall all
		[ -z "$gperftools" ] || set -- "$@" gperftools
		take_turns threads "$n" "$@"
		for c; do
			column "$work/threads.$c" 1 | say_record threads-make us threads="$n" by="$c"
			column "$work/threads.$c" 2 | awk '{ print $1 / 1e4 }' | say_record threads-wait %_of_a_core threads="$n" by="$c"
			column "$work/threads.$c" 3 | say_record threads-memory KiB threads="$n" by="$c"
			column "$work/threads.$c" 4 | say_record threads-end us threads="$n" by="$c"
			[ "$c" = bare ] || over threads "$c" 8 '$5 / $1' | say_record threads-times times threads="$n" by="$c"
		done
	done
}

measure_depth() {
	echo "Depth"
	for depth in 10 30 100 300 1000 4000; do
		for c in libcprof ${gperftools:+gperftools}; do
			preload=$CP_LIBRARY
			[ $c = libcprof ] || preload=$gperftools
			for round in $(seq "$rounds"); do
				env LD_PRELOAD="$preload" CPUPROFILE="$work/d.pb" CPUPROFILE_FREQUENCY=1 CPROF_MAX_DEPTH=4096 \
					"$work/sample-cost" $depth 1000 warm 2>/dev/null
			done | awk '{ print ($1 - $2) / 1000 }' >"$work/depth"
			say_record depth us depth=$depth by=$c <"$work/depth"
			awk -v d=$depth '{ print $1 * 1000 / d }' "$work/depth" | record depth-frame ns depth=$depth by=$c
		done
	done
}

# KiB of the process that heaptrack has beside the program, with the table of live blocks that others keep in the program.
interpret_memory() { # blocks
	has zstd && [ -x "$interpret" ] || return
	heaptrack -r -o "$work/ht" "$work/growth-host" blocks "$1" >"$work/ht.out" 2>&1
	"$work/run-cost" 1 sh -c 'zstd -dcq "$1" | "$2"' sh "$work"/ht*.zst "$interpret" | awk '{ print $3 }'
	rm -f "$work"/ht*
}

measure_blocks() {
	echo "Live blocks"
	for n in ${GROWTH_BLOCKS:-10000 100000 1000000 10000000}; do
		set -- bare again 512K exact
		# A minute and more for larger ones.
		[ "$n" -gt 100000 ] || { [ -z "$tcmalloc" ] || set -- "$@" gperftools-heap; }
		! has heaptrack || set -- "$@" heaptrack
		take_turns blocks "$n" "$@"
		for c; do
			column "$work/blocks.$c" 1 | say_record blocks-pair ns blocks="$n" by="$c"
			[ "$c" != bare ] || continue
			over blocks "$c" 6 '$4 - $1' | say_record blocks-over ns blocks="$n" by="$c"
			over blocks "$c" 6 '($5 - $2) * 100 / $3' | say_record blocks-memory +%_of_the_heap blocks="$n" by="$c"
			over blocks "$c" 6 "(\$5 - \$2) * 1024 / $n" | record blocks-bytes +bytes_a_block blocks="$n" by="$c"
		done
		interpret_memory "$n" | awk -v n="$n" '{ print $1 * 1024 / n }' |
			record blocks-bytes +bytes_a_block blocks="$n" by="heaptrack_interpret"
	done
}

measure_stacks() {
	echo "Different stacks"
	for n in ${GROWTH_STACKS:-100000 1000000}; do
		set -- bare exact
		! has heaptrack || set -- "$@" heaptrack
		take_turns stacks "$n" "$@"
		for c; do
			column "$work/stacks.$c" 1 | say_record stacks-pair ns stacks="$n" by="$c"
			[ "$c" = bare ] || over stacks "$c" 6 '($5 - $2) / 1024' | say_record stacks-memory +MB stacks="$n" by="$c"
		done
		# Before and after main; of heaptrack it is a script's.
		paste "$work/stacks.exact" "$work/stacks.exact.ms" | awk 'NF == 4 { print $4 - $3 }' |
			say_record stacks-end ms stacks="$n" by=exact
	done
}

measure_crowd() {
	echo "900 new threads a second"
	take_turns crowd "${GROWTH_SECONDS:-12}" bare six
	for c in bare six; do
		awk 'NF == 2 { print $2 - $1 }' "$work/crowd.$c" | say_record crowd-growth KiB by="$c"
	done
}

measure_alive() {
	echo "The end of a process with 10,000 threads"
	take_turns alive 10000 bare cpu all six
	for c in bare cpu all six; do
		# Before and after main.
		paste "$work/alive.$c" "$work/alive.$c.ms" | awk 'NF == 2 { print $2 - $1 }' | say_record alive-end ms by="$c"
	done
}

for part in ${GROWTH:-threads depth blocks stacks crowd alive}; do
	measure_$part
done
finish
