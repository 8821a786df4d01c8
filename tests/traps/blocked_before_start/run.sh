# SPDX-License-Identifier: BSD-3-Clause
# A thread blocked SIGPROF before the start, and can't be sampled: that is noted, and its time is not
# given to one stack when it ends.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
ends_well bare early ./tests/traps/blocked_before_start/host "$work/early.pb"
check_valid "$work/early.pb"
check_stack "$work/early.pb" 'burn.*;main_work'
check_comment "$work/early.pb" 'note: 1 thread\(s\) block SIGPROF since before the start'
check_quiet early
total=$("$pprof_check" --total "$work/early.pb" | sed -n 's/^cpu nanoseconds //p')
echo "$total ns in the profile; main used 0.1 s"
[ "$total" -lt 600000000 ] || fail "$total ns in the profile: the blocked second is in it"
finish
