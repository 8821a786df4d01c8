# A child that clone() made as fork would has timers of its own only: where it is to be in a sandbox (Chromium's renderers),
# a thread's timer would end it.
. "$srcdir/tests/lib/e2e.sh"
bare bare ./tests/traps/cloned-process
check_status bare 0
LOCKPROFILE="$work/all.lock.pb" CPROF_LOCK_THRESHOLD=0 WALLPROFILE="$work/all.wall.pb" profiled all ./tests/traps/cloned-process
check_status all 0
check_quiet all
check_same_output all bare
check_valid "$work/all.pb"
finish
