# SPDX-License-Identifier: BSD-3-Clause
# Trap: the user may have few processes and threads (RLIMIT_NPROC, pids.max), and the profiler's own count: the program
# gets two threads fewer than it gets alone.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
[ "$(id -u)" = 0 ] || skip "only root can become a user without other processes"
chmod 755 "$work"
mkdir "$work/open"
chmod 777 "$work/open"

for what in '' fork clone syscall spawn; do
	bare plain ./tests/traps/process_limit/host $what
	[ "$status" = 77 ] && skip "no other user here"
	bare limited env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/open/limited.pb" LOCKPROFILE="$work/open/lock.pb" \
		./tests/traps/process_limit/host $what
	check_ended limited 0 plain
	check_valid "$work/open/limited.pb"
	check_comment "$work/open/limited.pb" 'no collector thread \(EAGAIN'
done
finish
