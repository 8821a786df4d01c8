#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The end of short programs: python3 that does nothing, 300 subshells, and make of 60 small C files. Machine CPU, with the helpers that
# nobody waits for: the commands run in a cgroup of their own, and the group's CPU time is read when it is empty.
# ENDS_ROUNDS (5 of the tree, four times as many of python3): in each, all variants take turns; differences are to the
# bare run of the same round. ENDS_PROGRAMS: some of them only. ENDS_BEFORE: another build's libcprof.so, measured beside this one.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
rounds=${ENDS_ROUNDS:-5}
profiler=$(find_library libprofiler.so.0)
both=$(find_library libtcmalloc_and_profiler.so.4)
unset CPROF_SYMBOLIZE CPROF_CACHE
mkdir "$work/cache" "$work/out" "$work/src"
export XDG_CACHE_HOME=$work/cache

# Sets $group and $usage: a file that begins with the group's CPU time, in units of which $unit make a millisecond.
make_group() {
	for at in /sys/fs/cgroup/cpuacct /sys/fs/cgroup /sys/fs/cgroup/unified; do
		group=$at/cprof-bench.$$
		mkdir "$group" 2>/dev/null || continue
		usage=$group/cpuacct.usage unit=1000000
		[ -e "$usage" ] || usage=$group/cpu.stat unit=1000
		if [ -e "$usage" ] && [ -e "$group/cgroup.procs" ]; then return; fi
		rmdir "$group"
	done
	skip "no cgroup can be made"
}
make_group
trap 'rmdir "$group" 2>/dev/null; cleanup' EXIT
used() { awk 'NR == 1 { print $NF }' "$usage"; }
has_none() { [ -z "$(cat "$group/cgroup.procs")" ]; }

# CPU ms of a command and of all that it leaves running.
run_in_group() { # command...
	began_with=$(used)
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$@" >/dev/null 2>&1 </dev/null
	for _ in $(seq 3000); do
		has_none && break
		sleep 0.01
	done
	awk -v from="$began_with" -v to="$(used)" -v unit="$unit" 'BEGIN { print (to - from) / unit }'
}

# The profiles stay: ext4 looks for minutes whether the places of deleted files may be used again, which is 0.5 ms for each new one.
kept=0
put_away() { mv "$work/out" "$work/out.$((++kept))" && mkdir "$work/out"; }

variables_of() { # mode
	case $1 in
	cpu) echo "CPUPROFILE=$work/out/c.pb" ;;
	heap) echo "HEAPPROFILE=$work/out/h.pb" ;;
	wall) echo "WALLPROFILE=$work/out/w.pb" ;;
	lock) echo "LOCKPROFILE=$work/out/l.pb" ;;
	io) echo "IOPROFILE=$work/out/i.pb" ;;
	event) echo "EVENTPROFILE=$work/out/e.pb" ;;
	six) echo "$(variables_of all) $(variables_of io) $(variables_of event)" ;;
	all) echo "CPUPROFILE=$work/out/c.pb HEAPPROFILE=$work/out/h.pb WALLPROFILE=$work/out/w.pb LOCKPROFILE=$work/out/l.pb" ;;
	esac
}

# Sets $prefix.
prefix_of() { # variant
	prefix=(env)
	case $1 in
	bare | again) ;;
	preloaded) prefix=(env "LD_PRELOAD=$CP_LIBRARY") ;;
	gperftools) prefix=(env "LD_PRELOAD=$profiler" "CPUPROFILE=$work/out/g.prof" CPUPROFILE_FREQUENCY=99) ;;
	gperftools-both) prefix=(env "LD_PRELOAD=$both" "CPUPROFILE=$work/out/g.prof" CPUPROFILE_FREQUENCY=99
		"HEAPPROFILE=$work/out/g" HEAP_PROFILE_ALLOCATION_INTERVAL=0 HEAP_PROFILE_INUSE_INTERVAL=0) ;;
	*)
		library=$CP_LIBRARY
		case $1 in *-before) library=$ENDS_BEFORE ;; esac
		read -ra prefix <<<"env LD_PRELOAD=$library $(variables_of "${1%%-*}")"
		case $1 in *-names | *-high) prefix+=(CPROF_SYMBOLIZE=names) ;; esac
		case $1 in *-high) prefix+=(CPUPROFILE_FREQUENCY=1000 WALLPROFILE_FREQUENCY=500 CPROF_HEAP_INTERVAL=1
			CPROF_LOCK_THRESHOLD=0 CPROF_EVENT=minor-faults CPROF_EVENT_PERIOD=1) ;; esac
		;;
	esac
}

for n in $(seq 60); do
	c_source 3 | sed "s/int f\([0-9]*\)(/int f${n}_\1(/" >"$work/src/s$n.c"
done
# shellcheck disable=SC2016  # make's own variables
printf 'all: %s\n%%.o: %%.c\n\t$(CC) -O1 -c -o $@ $<\n' "$(seq -f s%g.o -s ' ' 60)" >"$work/src/Makefile"
command_of() { # program
	case $1 in
	python3) command=(/usr/bin/python3 -c pass) ;;
	tree) command=(make -s -B -j2 -C "$work/src" CC=gcc) ;;
	# shellcheck disable=SC2016  # for the other shell
	subshells) command=(bash -c 'for ((i = 0; i < 300; i++)); do (x=1); done') ;;
	esac
}

variants="bare again preloaded"
for mode in cpu heap all; do
	variants="$variants $mode-names $mode${ENDS_BEFORE:+ $mode-before}"
done
variants="$variants${profiler:+ gperftools}${both:+ gperftools-both}"
every=$variants
for program in ${ENDS_PROGRAMS:-python3 subshells tree}; do
	command_of "$program"
	has "${command[0]}" || continue
	turns=$rounds variants=$every
	# With lines, each subshell has a file in I/O mode only. The others, and at high rates, without lines.
	[ "$program" != subshells ] || variants="bare io-names io${ENDS_BEFORE:+ io-before} $(printf '%s-names %s-high ' cpu cpu wall wall heap heap lock lock event event six six) io-high"
	[ "$program" != python3 ] || turns=$((rounds * 4))
	for turn in $(seq "$turns"); do
		for variant in $variants; do
			# Its heap profiler takes 20 s of CPU for the tree.
			[ "$program:$variant" != tree:gperftools-both ] || [ "$turn" = 1 ] || continue
			prefix_of "$variant"
			run_in_group "${prefix[@]}" "${command[@]}" >>"$work/end.$program.$variant"
			put_away
		done
	done
	for variant in $variants; do
		say_record end-cpu ms program="$program" by="$variant" <"$work/end.$program.$variant"
		[ "$variant" != bare ] || continue
		paste "$work/end.$program.bare" "$work/end.$program.$variant" | awk 'NF == 2 { print $2 - $1 }' |
			record end-over ms program="$program" by="$variant"
	done
done

# Wall-clock time of the first exit after a start of the machine: the files of the profilers are dropped from memory
# before each run. (Those that another process has mapped stay.)
files=("$CP_LIBRARY" ./cprof $(ldd ./cprof | awk '/ => / { print $3 }') "$profiler")
for turn in $(seq $((rounds * 3))); do
	for variant in bare cpu-names cpu ${profiler:+gperftools}; do
		prefix_of "$variant"
		python3 - "${files[@]}" "$work"/cache/cprof/* -- "${prefix[@]}" /usr/bin/python3 -c pass >>"$work/cold.$variant" <<'END'
import os, subprocess, sys, time
at = sys.argv.index("--")
for name in filter(os.path.exists, sys.argv[1:at]):
    fd = os.open(name, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
began = time.monotonic()
subprocess.run(sys.argv[at + 1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print((time.monotonic() - began) * 1000)
END
		put_away
	done
done
for variant in bare cpu-names cpu ${profiler:+gperftools}; do
	say_record end-cold ms program=python3 by="$variant" <"$work/cold.$variant"
done
finish
