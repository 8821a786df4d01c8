# SPDX-License-Identifier: BSD-3-Clause
# The heap mode through the API: a run holds what was allocated in it and nothing else; a dump in
# between; labels of the thread.
. "$srcdir/tests/lib/heap.sh"

runs_well bare api ./tests/e2e/heap-api "$work/first.pb" "$work/second.pb" "$work/dump.pb"
check_heap "$work/first.pb" "$work/second.pb" "$work/dump.pb"

values_are "$work/first.pb" site_first "10 1000 9 900"
values_are "$work/first.pb" 'site_(between|second)' "0 0 0 0"
values_are "$work/second.pb" 'site_(first|between)' "0 0 0 0"
values_are "$work/second.pb" site_second "5 1500 4 1200"
values_are "$work/dump.pb" site_second "5 1500 5 1500"
# The loop may have been unrolled: several stacks.
for labelled in "few 2 800 2 800" "many 4 1600 4 1600"; do
	got=$("$pprof_check" --raw "$work/second.pb" | awk -v label="request=${labelled%% *}" '
		/site_labelled/ && index($0, label) { split($1, v, ","); for (i = 1; i <= 4; i++) s[i] += v[i] }
		END { print s[1], s[2], s[3], s[4] }')
	[ "$got" = "${labelled#* }" ] || fail "labels: $labelled, not $got"
done
finish
