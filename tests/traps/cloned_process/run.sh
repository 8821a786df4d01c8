# SPDX-License-Identifier: BSD-3-Clause
# A child that clone() made with the flags of a fork has only its own timers: if it is about to enter a sandbox
# (Chromium's renderers), a thread's timer would end it.
. "$srcdir/tests/lib/e2e.sh"
LOCKPROFILE="$work/all.lock.pb" CPROF_LOCK_THRESHOLD=0 WALLPROFILE="$work/all.wall.pb" same_as_bare cpu all ./tests/traps/cloned_process/host
check_valid "$work/all.pb"

# The first process of a namespace makes the first one of another: both have the number 1.
if unshare -pf true 2>/dev/null; then
	limit=$bounded
	ends_well bare nested-bare unshare -pf ./tests/traps/cloned_process/host nested
	bare nested unshare -pf env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/nested.pb" ./tests/traps/cloned_process/host nested
	check_ended_valid nested 0 nested-bare
	[ "$(find "$work" -name 'nested.pb*' | wc -l)" = 1 ] || fail "nested: $(ls "$work")"
fi
finish
