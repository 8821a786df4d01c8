#!/bin/bash
# Trap: a signal handler pauses its thread, and lets it go on, between two instructions of an allocation that is about to
# be recorded. Behind any of them: what was looked at may be gone when it is used.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

[ "$(uname -m)" = x86_64 ] || skip "one instruction at a time on x86_64 only"
bare stepped ./tests/traps/heap-stepped "$work/stepped.pb"
check_status stepped 0
check_heap "$work/stepped.pb"
n=$(cat "$work/stepped.out")
values_are "$work/stepped.pb" site_stepped "$n $((n * 10)) 0 0"
finish
