#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What short and odd moments cost: an exec, a fork, a thread, signal masks, deep stacks in exact mode, two threads that
# wake each other, free read-write locks and semaphores. All variants take turns in each round, and differences are to
# the bare run of the same round, so that the figures stand on a busy machine, too. EDGES_ROUNDS (9). EDGES_BEFORE: another
# build's libcprof.so, measured beside this one. EDGES: some of the parts only; "memory" is one that isn't measured by
# default: the peak memory of clang and redis-server when every allocation is recorded.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
rounds=${EDGES_ROUNDS:-9}
parts=${EDGES:-exec fork thread mask deep ping locks idle}
host=./tests/e2e/wall-host
make -s "${host#./}" >&2 || exit 1
profiler=$(find_library libprofiler.so.0)
tcmalloc=$(find_library libtcmalloc.so.4)
$CC -O2 -D_GNU_SOURCE -pthread -o "$work/edges" "$srcdir/bench/edges.c" || exit 1
$CC -O2 -D_GNU_SOURCE -pthread -o "$work/lock" "$srcdir/bench/lock.c" -ldl || exit 1
echo 'int nothing;' | $CC -shared -fPIC -x c -o "$work/empty.so" - || exit 1
# What the end of a process costs is in ends.sh.
export CPROF_SYMBOLIZE=names

# Sets $variables and $prefix: the environment of a variant, and the command that runs it.
variant() { # name
	library=$CP_LIBRARY prefix=()
	case $1 in *-before) library=$EDGES_BEFORE ;; esac
	variables=("LD_PRELOAD=$library")
	case ${1%%-*} in
	bare | again | a_timer_alone) variables=() ;;
	an_empty_library) variables=("LD_PRELOAD=$work/empty.so") ;;
	cpu) variables+=("CPUPROFILE=$work/c.pb") ;;
	perf_engine) variables+=("CPUPROFILE=$work/c.pb" CPROF_CPU_ENGINE=perf) ;;
	perf_engine_*) variables+=("CPUPROFILE=$work/c.pb" CPROF_CPU_ENGINE=perf "CPUPROFILE_FREQUENCY=${1##*_}") ;;
	heap) variables+=("HEAPPROFILE=$work/h.pb") ;;
	exact) variables+=("HEAPPROFILE=$work/h.pb" CPROF_HEAP_INTERVAL=1) ;;
	wall) variables+=("WALLPROFILE=$work/w.pb") ;;
	lock) variables+=("LOCKPROFILE=$work/l.pb") ;;
	all) variables+=("CPUPROFILE=$work/c.pb" "HEAPPROFILE=$work/h.pb" "WALLPROFILE=$work/w.pb" "LOCKPROFILE=$work/l.pb") ;;
	gperftools_off) variables=("LD_PRELOAD=$profiler") ;;
	gperftools) variables=("LD_PRELOAD=$profiler" "CPUPROFILE=$work/g.prof" CPUPROFILE_FREQUENCY=99) ;;
	gperftools_heap) variables=("LD_PRELOAD=$tcmalloc" "HEAPPROFILE=$work/g" HEAP_PROFILE_ALLOCATION_INTERVAL=0 HEAP_PROFILE_INUSE_INTERVAL=0) ;;
	heaptrack) variables=() prefix=(heaptrack -r -o "$work/ht") ;;
	perf_record) variables=() prefix=(perf record -q -F 99 -g -o "$work/p.data") ;;
	perf_record_*) variables=() prefix=(perf record -q -F "${1##*_}" -g -o "$work/p.data") ;;
	esac
}

can() { # variant
	case $1 in
	*-before) [ -n "${EDGES_BEFORE:-}" ] ;;
	gperftools | gperftools_off) [ -n "$profiler" ] ;;
	gperftools_heap) [ -n "$tcmalloc" ] ;;
	heaptrack) has heaptrack ;;
	perf_record*) perf record -q -F 99 -o "$work/p.data" true >/dev/null 2>&1 ;;
	esac
}

# The figures of a run, one a line; another profiler's own lines are left out.
run() { # part arguments...
	[ "$v" != a_timer_alone ] || set -- "$@" timer
	case $1 in
	exec) "$work/edges" exec "$2" "PATH=$PATH" "${variables[@]}" ;;
	*) env "${variables[@]}" "${prefix[@]}" "$work/edges" "$@" 2>/dev/null ;;
	esac | grep -E '^[0-9.]+$'
}

# Sets $group, $all and $able: the figures "what..." of the variants that can run, one file each.
measure() { # group "what..." "variant..." part arguments...
	group=$1 all=$2 able=
	for v in $3; do ! can "$v" || able="$able $v"; done
	shift 3
	for _ in $(seq "$rounds"); do
		for v in $able; do
			variant "$v"
			run "$@" >"$work/figures"
			at=0
			for what in $all; do
				at=$((at + 1))
				sed -n "${at}p" "$work/figures" >>"$work/of.$group.$what.$v"
			done
			rm -f "$work"/*.pb "$work"/g.* "$work"/ht*
		done
	done
}

each_value() { # record NAME unit
	for what in $all; do
		for v in $able; do
			record "$2" "$3" what="$what" by="$v" <"$work/of.$group.$what.$v"
		done
	done
}

# Differences to the bare run of the same round.
each_over() { # record NAME unit
	for what in $all; do
		for v in $able; do
			paste "$work/of.$group.$what.bare" "$work/of.$group.$what.$v" | awk 'NF == 2 { print $2 - $1 }' |
				say_record "$2" "$3" what="$what" by="$v"
		done
	done
}

waited() { # threads seconds: CPU time of the process, ns
	env "${variables[@]}" WALLPROFILE_FREQUENCY=50 "$host" idle "$1" "$2"
}

# Parts of a core: of threads that wait, in the wall mode, without the process's start and end; and of as many wake-ups
# by the kernel alone.
idle() {
	for _ in 1 2 3; do
		for n in 1 100; do
			for v in bare wall wall-before; do
				can "$v" || continue
				variant "$v"
				echo "$(waited $n 6) $(waited $n 2)" | awk '{ print ($1 - $2) / 4e7 }' >>"$work/idle.$n.$v"
			done
		done
		for hz in 25 100; do
			"$work/edges" wake $hz 4 >>"$work/idle.$hz.wake"
		done
	done
	for n in 1 100; do
		for v in bare wall wall-before; do
			! can "$v" || say_record edge-idle %_of_a_core threads=$n by="$v" <"$work/idle.$n.$v"
		done
	done
	for hz in 25 100; do
		say_record edge-wake %_of_a_core hz=$hz <"$work/idle.$hz.wake"
	done
}

# KiB, peak.
peak_of() { # command...
	"$work/run-cost" 1 "$@" | awk '{ print $3 }'
}

peak_of_redis() { # prefix...
	"$work/run-cost" 1 "$@" "$redis" --port 0 --unixsocket "$work/r.sock" --save '' --appendonly no --dir "$work" >"$work/peak" &
	for _ in $(seq 100); do
		redis-cli -s "$work/r.sock" ping >/dev/null 2>&1 && break
		sleep 0.05
	done
	redis-benchmark -s "$work/r.sock" -n 60000 -r 20000 -d 1000 -c 20 -P 4 -q -t set,get,lpush,hset >"$work/load" 2>&1
	redis-cli -s "$work/r.sock" shutdown nosave >/dev/null 2>&1
	wait $!
	awk '{ print $3 }' "$work/peak"
}

memory() {
	interpret=/usr/lib/heaptrack/libexec/heaptrack_interpret
	clang=$(command -v clang || command -v clang-14)
	$CC -O2 -D_GNU_SOURCE -o "$work/run-cost" "$srcdir/bench/run-cost.c" || exit 1
	c_source 100 >"$work/input.c"
	# It may be installed under its other name only.
	redis=$(command -v redis-server)
	if [ -z "$redis" ] && has redis-check-rdb; then
		redis=$work/redis-server
		ln -s "$(command -v redis-check-rdb)" "$redis"
	fi
	for v in bare again heap exact heaptrack; do
		can "$v" || continue
		variant "$v"
		for _ in 1 2 3; do
			[ -z "$clang" ] || peak_of env "${variables[@]}" "${prefix[@]}" "$clang" -O2 -c -o "$work/o.o" "$work/input.c" >>"$work/peak.clang.$v"
			[ -z "$redis" ] || [ "$v" = heaptrack ] || peak_of_redis env "${variables[@]}" >>"$work/peak.redis.$v"
			[ "$v" != heaptrack ] || ! has zstd ||
				peak_of sh -c 'zstd -dcq "$1" | "$2"' sh "$work"/ht*.zst "$interpret" >>"$work/peak.clang.heaptrack_interpret"
			rm -f "$work"/*.pb "$work"/ht*
		done
	done
	for file in "$work"/peak.*.*; do
		of=${file##*/peak.}
		say_record edge-memory KiB program="${of%%.*}" by="${of#*.}" <"$file"
	done
}

with_before() { for v; do echo "$v $v-before"; done; }
modes="bare again $(with_before preloaded cpu heap wall lock all) gperftools heaptrack perf_record"

for part in $parts; do
	case $part in
	exec)
		measure exec exec "bare again an_empty_library $(with_before preloaded) gperftools_off" exec 100
		each_value record edge-exec us
		each_over record edge-exec-over us
		;;
	fork)
		measure fork 'fork fork,_p99' "$modes" fork 200
		each_value record edge-life us
		each_over record edge-life-over us
		;;
	thread)
		measure thread thread "$modes a_timer_alone" thread 1000
		each_value record edge-life us
		each_over record edge-life-over us
		;;
	mask)
		measure mask 'mask mask_of_all sigaction' "$modes" mask 20000
		each_value record edge-mask ns
		each_over record edge-mask-over ns
		;;
	deep)
		for depth in 10 110 128 500; do
			measure deep $depth "bare again $(with_before heap exact) gperftools_heap heaptrack" deep $depth 20000
			each_value record edge-deep ns
			each_over record edge-deep-over ns
		done
		;;
	ping)
		measure ping ping "bare again $(with_before cpu perf_engine) gperftools perf_record perf_engine_1000 perf_record_1000 perf_engine_4000 perf_record_4000" ping 20000
		each_value record edge-ping us
		each_over record edge-ping-over us
		;;
	idle) idle ;;
	memory) memory ;;
	locks)
		for kind in read write semaphore; do
			for v in preloaded preloaded-before lock lock-before; do
				can "$v" || continue
				variant "$v"
				for _ in 1 2 3; do
					env "${variables[@]}" "$work/lock" pair $kind
				done | sed 's/.*over libc \([-0-9.]*\).*/\1/' | say_record edge-locks ns what=$kind by="$v"
			done
		done
		;;
	esac
done
finish
