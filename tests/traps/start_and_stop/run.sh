# SPDX-License-Identifier: BSD-3-Clause
# Trap: a linked program starts and stops profiling while its other threads come and go, and dumps to a pipe that
# nobody reads. Neither hangs, and neither leaves a thread of the profiler behind.
. "$srcdir/tests/lib/e2e.sh"

for what in races stalled; do
	ends_well bare "$what" timeout -s KILL 60 ./tests/traps/hosts/start-stop "$what" "$work"
	[ ! -s "$work/$what.out" ] || fail "$what: $(cat "$work/$what.out")"
	check_quiet "$what"
	check_valid "$work/$what.pb"
done

# A full stderr that nobody reads does not keep us either.
mkfifo "$work/full"
exec 8<>"$work/full"
head -c 65536 /dev/zero >&8
status=0
timeout -s KILL 20 env CPROF_VERBOSE=1 LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/full.pb" /bin/true 2>&8 || status=$?
exec 8>&-
[ "$status" = 0 ] || fail "a full stderr: exit status $status"
check_valid "$work/full.pb"
finish
