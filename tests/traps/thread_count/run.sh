# SPDX-License-Identifier: BSD-3-Clause
# A program asks the kernel how many threads it has, and ends itself where it isn't alone: our thread isn't there then.
. "$srcdir/tests/lib/e2e.sh"
ends_well bare bare ./tests/traps/thread_count/host
grep -q '^self/task/: 1 threads' "$work/bare.out" || skip "the kernel doesn't tell"
WALLPROFILE="$work/all.wall.pb" WALLPROFILE_FREQUENCY=100 same_as_bare cpu all ./tests/traps/thread_count/host
grep 'threads$' "$work/all.out" | grep -v ': 1 threads' && harm "it isn't alone"
# The collector comes back: the program's later work is seen.
check_valid "$work/all.pb"
check_valid_as wall "$work/all.wall.pb"
check_stack "$work/all.wall.pb" 'burn.*;main'
finish
