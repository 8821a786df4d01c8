# SPDX-License-Identifier: BSD-3-Clause
# Trap: an allocation comes from the very stack that one came from a moment ago, and is taken for the same, though the
# thread has labels now, or is paused, or another run has begun; or the thread is another one, with a smaller stack.
. "$srcdir/tests/lib/heap.sh"

runs_well bare same ./tests/traps/heap_same_stack/host "$work/first.pb" "$work/second.pb" "$work/third.pb"
check_heap "$work/first.pb" "$work/second.pb" "$work/third.pb"

values_are "$work/first.pb" site_same "1004 10040 0 0"
values_are "$work/first.pb" site_thread "12000 1200000 0 0"
values_are "$work/second.pb" site_same "930 9300 0 0"
values_are "$work/third.pb" site_same "80 800 0 0"
"$pprof_check" --raw "$work/second.pb" | grep site_same | sort >"$work/rows"
grep -q '^200,2000,0,0	.*request=one' "$work/rows" && [ "$(grep -c request "$work/rows")" = 1 ] ||
	fail "labels: $(cat "$work/rows")"
finish
