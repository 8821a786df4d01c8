# SPDX-License-Identifier: BSD-3-Clause
# A child resets all signals past libc's sigaction, and SIGPROF's default ends a process that is being sampled.
. "$srcdir/tests/lib/e2e.sh"
LOCKPROFILE="$work/all.lock.pb" WALLPROFILE="$work/all.wall.pb" CPUPROFILE_FREQUENCY=4000 same_as_bare cpu all ./tests/traps/raw_reset/host
check_valid "$work/all.pb"
# The child's are its own, and there.
[ "$(find "$work" -name 'all.pb.*' | wc -l)" -ge 10 ] || fail "children without profiles: $(ls "$work")"
finish
