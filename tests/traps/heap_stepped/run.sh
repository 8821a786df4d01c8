# SPDX-License-Identifier: BSD-3-Clause
# Trap: a signal handler pauses its thread, and resumes it, between two instructions of an allocation that is about to
# be recorded. After any instruction, a fact that was just checked may no longer hold when it is used.
. "$srcdir/tests/lib/heap.sh"

[ "$(uname -m)" = x86_64 ] || skip "one instruction at a time on x86_64 only"
ends_well bare stepped ./tests/traps/heap_stepped/host "$work/stepped.pb"
check_heap "$work/stepped.pb"
n=$(cat "$work/stepped.out")
values_are "$work/stepped.pb" site_stepped "$n $((n * 10)) 0 0"
finish
