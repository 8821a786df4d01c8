# SPDX-License-Identifier: BSD-3-Clause
# A program with one thread doesn't get another in libc's eyes, because libc would then take locks that it otherwise
# leaves out. Dumps and checkpoints are written while it runs all the same, and our task's messages are printed. When
# the program gets its first thread, or libc makes one, everything goes on.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPROF_CHECKPOINT=20ms CPROF_HEAP_INTERVAL=1
host=./tests/traps/single_thread/host

in_mode() { # mode name command...
	mode=$1 name=$2
	shift 2
	rm -f "$work/$name".*
	ends_well bare "$name" env LD_PRELOAD="$CP_LIBRARY" "${mode^^}PROFILE=$work/$name.pb" "$@"
	[ "$(cat "$work/$name.out")" = done ] || harm "$name: $(head -n 3 "$work/$name.out")"
}

for mode in cpu wall heap lock; do
	in_mode $mode $mode-alone $host alone "$work/$mode-alone.pb" "$work/$mode-alone.0001.pb"
	check_quiet $mode-alone
	check_valid_as $mode "$work/$mode-alone.pb" "$work/$mode-alone.0001.pb"
	[ $mode = lock ] || check_stack "$work/$mode-alone.pb" work_alone
done
in_mode cpu kcmp $host kcmp
check_quiet kcmp
for mode in cpu wall; do
	for way in threads no-thread libc pthread_exit; do
		in_mode $mode $mode-$way $host $way
		check_quiet $mode-$way
		check_valid_as $mode "$work/$mode-$way.pb"
	done
	in_mode $mode $mode-fork $host fork "$work/$mode-fork.pb" "$work/$mode-fork.0001.pb"
	check_quiet $mode-fork
	check_stack "$work/$mode-threads.pb" work_of_thread
	check_stack "$work/$mode-libc.pb" work_of_thread
	check_stack "$work"/$mode-fork.pb.* work_of_thread
done

# Whatever changes ids, our task does not exist during the change.
in_mode wall ids $host ids
check_quiet ids

# Lines come while the program runs; where a sandbox is against it, before its end.
for filter in "" "$host filter"; do
	name=lines${filter:+-filtered}
	bare $name $filter env LD_PRELOAD="$CP_LIBRARY" CPROF_VERBOSE=1 CPUPROFILE="$work/$name.pb" \
		$host alone "$work/$name.0001.pb"
	[ "$status" = 77 ] && { echo "# no filters here"; continue; }
	check_status $name 0
	[ "$(grep -c '^libcprof: cpu profile dump 1 written$' "$work/$name.err")" = 1 ] ||
		fail "$name: the dump isn't said once: $(cat "$work/$name.err")"
done
finish
