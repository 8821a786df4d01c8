#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What short and odd moments cost: an exec, a fork, a thread, signal masks, deep stacks in exact mode, two threads that
# wake each other, free read-write locks and semaphores. All variants live at the same time on one processor and take turns
# in short slices (turns.c); differences are to the bare program's slice of the same round, so that the figures stand on
# a busy machine, too. The bounds ("... alone") are what the kernel takes for the system calls without which it can't be
# done, by a program without a profiler. EDGES_ROUNDS (200): slices of each. EDGES_BEFORE: another build's libcprof.so,
# measured beside this one. EDGES: some of the parts only; "memory" is one that isn't measured by default: the peak memory
# of clang and redis-server when every allocation is recorded.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
rounds=${EDGES_ROUNDS:-200}
parts=${EDGES:-exec fork thread mask deep ping locks idle}
host=./tests/e2e/wall-host
make -s "${host#./}" >&2 || exit 1
profiler=$(find_library libprofiler.so.0)
tcmalloc=$(find_library libtcmalloc.so.4)
$CC -O2 -D_GNU_SOURCE -pthread -o "$work/edges" "$srcdir/bench/edges.c" || exit 1
$CC -O2 -D_GNU_SOURCE -o "$work/turns" "$srcdir/bench/turns.c" || exit 1
$CC -O2 -D_GNU_SOURCE -pthread -o "$work/lock" "$srcdir/bench/lock.c" -ldl || exit 1
echo 'int nothing;' | $CC -shared -fPIC -x c -o "$work/empty.so" - || exit 1
# What the end of a process costs is in ends.sh.
export CPROF_SYMBOLIZE=names

# A library that only looks up libc's functions of the names that libcprof.so exports.
look_ups() { # file
	{
		echo '#include <dlfcn.h>'
		echo 'static const char *const names[] = {'
		$NM -D --defined-only "$CP_LIBRARY" | awk '$2 == "T" && $3 !~ /^cprof_/ { sub(/@.*/, "", $3); print "\"" $3 "\"," }' | sort -u
		echo '};'
		echo '__attribute__((constructor)) static void begin(void) {'
		echo '	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) dlsym(RTLD_NEXT, names[i]); }'
	} >"$work/look-ups.c"
	$CC -O2 -D_GNU_SOURCE -shared -fPIC -o "$1" "$work/look-ups.c"
}
look_ups "$work/look-ups.so" || exit 1

# Sets $variables and $prefix: the environment of a variant, and the command that runs it.
variant() { # name
	library=$CP_LIBRARY prefix=() files=$work/$1
	case $1 in *-before) library=$EDGES_BEFORE ;; esac
	variables=("LD_PRELOAD=$library")
	case ${1%%-*} in
	bare | again | *_alone) variables=() ;;
	an_empty_library) variables=("LD_PRELOAD=$work/empty.so") ;;
	with_its_look) variables=("LD_PRELOAD=$work/look-ups.so") ;;
	cpu) variables+=("CPUPROFILE=$files.c.pb") ;;
	perf_engine) variables+=("CPUPROFILE=$files.c.pb" CPROF_CPU_ENGINE=perf) ;;
	perf_engine_*) variables+=("CPUPROFILE=$files.c.pb" CPROF_CPU_ENGINE=perf "CPUPROFILE_FREQUENCY=${1##*_}") ;;
	heap) variables+=("HEAPPROFILE=$files.h.pb") ;;
	exact) variables+=("HEAPPROFILE=$files.h.pb" CPROF_HEAP_INTERVAL=1) ;;
	wall) variables+=("WALLPROFILE=$files.w.pb") ;;
	lock) variables+=("LOCKPROFILE=$files.l.pb") ;;
	all) variables+=("CPUPROFILE=$files.c.pb" "HEAPPROFILE=$files.h.pb" "WALLPROFILE=$files.w.pb" "LOCKPROFILE=$files.l.pb") ;;
	gperftools_off) variables=("LD_PRELOAD=$profiler") ;;
	gperftools) variables=("LD_PRELOAD=$profiler" "CPUPROFILE=$files.g.prof" CPUPROFILE_FREQUENCY=99) ;;
	gperftools_heap) variables=("LD_PRELOAD=$tcmalloc" "HEAPPROFILE=$files.g" HEAP_PROFILE_ALLOCATION_INTERVAL=0 HEAP_PROFILE_INUSE_INTERVAL=0) ;;
	heaptrack) variables=() prefix=(heaptrack -r -o "$files.ht") ;;
	perf_record) variables=() prefix=(perf record -q -F 99 -g -o "$files.p.data") ;;
	perf_record_*) variables=() prefix=(perf record -q -F "${1##*_}" -g -o "$files.p.data") ;;
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

# Sets $slices, $all and $able: the figures "what..." of the variants that can run, lines "ROUND NAME FIGURE...".
measure() { # "what..." "variant..." part arguments...
	slices=$work/slices all=$1 able=
	players=()
	for v in $2; do
		can "$v" || continue
		able="$able $v"
		variant "$v"
		command=("${variables[@]}" "${prefix[@]}" "$work/edges" "${@:3}")
		[ "$3" != exec ] || command=("$work/edges" "${@:3}" "PATH=$PATH" "${variables[@]}")
		case $v in *_alone) command+=(alone) ;; esac
		players+=("$v" "${command[@]}" --)
	done
	# A fork is measured by the clock on the wall, and the profiler's task may have the other processor meanwhile.
	where=
	[ "$3" != fork ] || where=-a
	"$work/turns" $where "$rounds" "${players[@]}" >"$slices"
	rm -rf "$work"/*.pb* "$work"/*.g.* "$work"/*.ht* "$work"/*.p.data*
}

# The values of a figure, one a line: by round; or its differences to the bare program's of the same round.
values() { # variant number
	awk -v v="$1" -v at="$2" '$2 == v { print $(at + 2) }' "$slices"
}

differences() { # variant number
	awk -v v="$1" -v at="$2" '
		$2 == "bare" { bare[$1] = $(at + 2) }
		$2 == v { its[$1] = $(at + 2) }
		END { for (r in its) if (r in bare) print its[r] - bare[r] }' "$slices"
}

each_value() { # record NAME unit
	at=0
	for what in $all; do
		at=$((at + 1))
		for v in $able; do
			values "$v" $at | record "$2" "$3" what="$what" by="$v"
		done
	done
}

each_over() { # record NAME unit
	at=0
	for what in $all; do
		at=$((at + 1))
		for v in $able; do
			differences "$v" $at | say_record "$2" "$3" what="$what" by="$v"
		done
	done
}

# The worst of all forks of a variant but one in a hundred; they come after the slice's median.
p99_of_forks() { # variant
	awk -v v="$1" '$2 == v { for (i = 4; i <= NF; i++) print $i }' "$slices" | sort -g |
		awk '{ us[NR] = $1 } END { print us[NR - int(NR / 100)] }'
}

each_p99_of_forks() {
	bare=$(p99_of_forks bare)
	for v in $able; do
		p99=$(p99_of_forks "$v")
		record edge-life us what=fork,_p99 by="$v" <<<"$p99"
		awk -v a="$p99" -v b="$bare" 'BEGIN { print a - b }' | say_record edge-life-over us what=fork,_p99 by="$v"
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
		for wake in '25 0' '25 50' '100 0'; do
			read -r hz looks <<<"$wake"
			"$work/edges" wake $hz 4 $looks >>"$work/idle.$hz.$looks.wake"
		done
	done
	for n in 1 100; do
		for v in bare wall wall-before; do
			! can "$v" || say_record edge-idle %_of_a_core threads=$n by="$v" <"$work/idle.$n.$v"
		done
	done
	for wake in '25 0' '25 50' '100 0'; do
		read -r hz looks <<<"$wake"
		say_record edge-wake %_of_a_core by="${hz}_a_second,_$looks" <"$work/idle.$hz.$looks.wake"
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
		measure exec "bare again an_empty_library with_its_look-ups $(with_before preloaded) gperftools_off" exec 3
		each_value record edge-exec us
		each_over record edge-exec-over us
		;;
	fork)
		measure fork "$modes" fork 5
		each_value record edge-life us
		each_over record edge-life-over us
		each_p99_of_forks
		;;
	thread)
		measure thread "$modes a_timer_alone" thread 40
		each_value record edge-life us
		each_over record edge-life-over us
		;;
	mask)
		measure 'mask mask_of_all sigaction sigaction_of_all' "$modes a_getpid_alone" mask 1000
		each_value record edge-mask ns
		each_over record edge-mask-over ns
		;;
	deep)
		for depth in 10 110 128 500; do
			measure $depth "bare again $(with_before heap exact) gperftools_heap heaptrack" deep $depth 400
			each_value record edge-deep ns
			each_over record edge-deep-over ns
		done
		;;
	ping)
		# Long slices: at 99 Hz a shorter one has no sample.
		rounds=$(((rounds + 4) / 5)) measure ping "bare again $(with_before cpu perf_engine) gperftools perf_record an_event_alone perf_engine_1000 perf_record_1000 perf_engine_4000 perf_record_4000" ping 5000
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
				done >"$work/pairs"
				sed 's/.*ours over libc \([-0-9.]*\).*/\1/' "$work/pairs" | say_record edge-locks ns what=$kind by="$v"
				[ $v != lock ] || sed 's/.*a look over libc \([-0-9.]*\).*/\1/' "$work/pairs" |
					say_record edge-locks ns what=$kind by=a_look_alone
			done
		done
		;;
	esac
done
finish
