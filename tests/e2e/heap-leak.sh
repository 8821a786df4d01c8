# SPDX-License-Identifier: BSD-3-Clause
# A leak of known size is found at its site: to the byte in exact mode, where the sites that free
# everything have nothing in use; within the statistical error at the default interval.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

CPROF_HEAP_INTERVAL=1 heap_profiled exact ./tests/e2e/heap-sites leak 20000000
check_status exact 0
check_quiet exact
check_heap "$work/exact.pb"
[ "$(heap_values "$work/exact.pb" 'planted_leak')" = "20000 20000000 20000 20000000" ] ||
	fail "exact: the leak is $(heap_values "$work/exact.pb" 'planted_leak')"
for site in site_small site_page; do
	[[ $(heap_values "$work/exact.pb" "$site") == "20000 "*" 0 0" ]] ||
		fail "exact: $site is $(heap_values "$work/exact.pb" "$site")"
done

# 763 samples are expected; the standard error of one run is 3.6 %.
heap_profiled sampled ./tests/e2e/heap-sites leak 400000000
check_status sampled 0
check_quiet sampled
check_heap "$work/sampled.pb"
read -r _ _ objects bytes <<<"$(heap_values "$work/sampled.pb" 'planted_leak')"
[ "$bytes" -gt 320000000 ] && [ "$bytes" -lt 480000000 ] || fail "sampled: $bytes bytes, not 400000000"
[ "$objects" -gt 320000 ] && [ "$objects" -lt 480000 ] || fail "sampled: $objects objects, not 400000"
"$pprof_check" --top 1 "$work/sampled.pb" | grep -q planted_leak || fail "the leak isn't at the top"
if command -v go >/dev/null; then
	for index in alloc_objects alloc_space inuse_objects inuse_space; do
		go tool pprof -sample_index="$index" -top "$work/sampled.pb" 2>&1 | grep -q planted_leak ||
			fail "go tool pprof doesn't show the leak in $index"
	done
fi
finish
