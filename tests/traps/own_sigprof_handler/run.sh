# SPDX-License-Identifier: BSD-3-Clause
# The program installs its own handler for the profiling signal.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/sigprof-host
export CPUPROFILE_FREQUENCY=1000
for how in views deliver timer 'die raise' 'die kill' 'die ignored'; do
	label=${how// /-}
	bare "bare-$label" $host $how
	expected=$status
	profiled "$label" $host $how
	check_status "$label" "$expected"
	check_same_output "$label" "bare-$label" || diff "$work/bare-$label.out" "$work/$label.out"
	check_quiet "$label"
	check_valid "$work/$label.pb"
	check_stack "$work/$label.pb" 'burn'
done
# Modes without a sample, and one that is off until a signal comes.
for mode in HEAPPROFILE LOCKPROFILE "CPUPROFILESIGNAL=USR1 CPUPROFILE"; do
	label=${mode//[ =]/-}
	for how in views deliver 'die raise'; do
		bare "bare-${how// /-}" $host $how
		expected=$status
		bare "$label" env LD_PRELOAD="$CP_LIBRARY" $mode="$work/$label.pb" $host $how
		check_status "$label" "$expected"
		check_same_output "$label" "bare-${how// /-}"
		check_quiet "$label"
	done
done
[ "$(cat "$work/deliver.out")" != '' ] && cmp -s "$work/views.out" "$work/bare-views.out" ||
	diff "$work/bare-views.out" "$work/views.out"
# The default action, from outside: the same status, and a profile is left.
for send in PROF; do
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/outside.pb" "$BASH" -c 'while :; do :; done' &
	pid=$!
	owns "$pid"
	wait_for 10 grep -q libcprof "/proc/$pid/maps"
	sleep 0.3
	kill "-$send" "$pid"
	wait "$pid" 2>/dev/null
	status=$?
	[ "$status" = 155 ] || harm "SIGPROF from outside: status $status, not 155"
	[[ $CC == musl-gcc* ]] || check_valid "$work/outside.pb" # bash is glibc's
done
finish
