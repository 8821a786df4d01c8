# SPDX-License-Identifier: BSD-3-Clause
# The program closes every descriptor and opens files of its own: none of them gets a byte from the profiler
# (gperftools wrote its profile into such a file), and the profile is written all the same.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
for how in close-range close-loop; do
	CPROF_CHECKPOINT=20ms CPROF_VERBOSE=1 CPUPROFILE_FREQUENCY=1000 \
		profiled "$how" ./tests/traps/descriptors_closed/host "$how" "$work/$how-data"
	check_status "$how" 0
	check_valid "$work/$how.pb"
	check_stack "$work/$how.pb" 'work;own_everything'
	for fd in 0 1 2 3 20 40; do
		[ "$(cat "$work/$how-data.$fd")" = "the program's own data" ] ||
			harm "$how: the program's file $fd holds: $(head -c 200 "$work/$how-data.$fd")"
	done
done

# A pipe or a socket that became descriptor 2 carries the program's protocol: the profiler writes no line to it.
mkfifo "$work/peer"
cat "$work/peer" >"$work/peer.got" &
reader=$!
owns $reader
CPROF_VERBOSE=1 CPUPROFILE_FREQUENCY=1000 \
	profiled connect ./tests/traps/descriptors_closed/host close-connect "$work/peer"
check_status connect 0
wait $reader
check_valid "$work/connect.pb"
[ "$(cat "$work/peer.got")" = "the program's own data" ] ||
	harm "connect: the program's peer got: $(head -c 200 "$work/peer.got")"

# While a profile is written or threads are visited, the program's next descriptor is the lowest
# free one all the same, and its locks of fcntl's on a file that we read too are kept.
for mode in CPU WALL; do
	for what in "lowest 300000" locked; do
		name=$(echo "$mode-$what" | tr ' ' -)
		read -ra words <<<"$what"
		ends_well bare "$name" env CPROF_CHECKPOINT=10ms CPROF_WALL_FREQUENCY=1000 "${mode}PROFILE=$work/$name.pb" \
			LD_PRELOAD="$CP_LIBRARY" ./tests/traps/descriptors_closed/host "${words[@]}"
	done
done

# Between dumps the profiler has no open descriptor, not even in the collector's thread.
bare list-bare ./tests/traps/descriptors_closed/host
CPROF_CHECKPOINT=20ms profiled list ./tests/traps/descriptors_closed/host "$(cat "$work/list-bare.out")"
check_ended list 0 list-bare
finish
