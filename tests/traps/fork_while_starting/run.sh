# SPDX-License-Identifier: BSD-3-Clause
# Trap: one thread starts and stops profiling while another forks. The child has a copy of a session in any state: it
# must be able to start and to stop its own session.
. "$srcdir/tests/lib/e2e.sh"
need timeout

bare forks timeout -s KILL 100 ./tests/traps/hosts/start-stop forks "$work"
check_status forks 0
[ ! -s "$work/forks.out" ] || fail "$(sort "$work/forks.out" | uniq -c)"
check_quiet forks
check_valid "$work/forks.pb"
finish
