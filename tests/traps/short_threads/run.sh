# SPDX-License-Identifier: BSD-3-Clause
# Threads that live less than a period are never sampled.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/cpu-host
profiles_well profiled short "$host" short 800 0.001
check_stack "$work/short.pb" 'burn.*;work'
total=$("$pprof_check" --total "$work/short.pb" | sed -n 's/^cpu nanoseconds //p')
used=$(tail -n 1 "$work/short.err")
echo "$total ns in the profile, $used ns used"
[ "$total" -gt 0 ] || fail "no sample"
[ "$total" -lt $((used * 3 / 2)) ] || fail "$total ns in the profile of $used ns used"
# CPU time that is not in samples is written down: both together are the CPU time used.
"$pprof_check" --comments "$work/short.pb" | sed -n 's/^cpu time: //p' | tr -d . |
	sed 's/^0*//; s/ s in samples//; s/ s used by the program//; s/ s unsampled//; s/,//g' |
	while read -r whole sampled unsampled; do
		whole=$((10#$whole)) sampled=$((10#$sampled)) unsampled=$((10#$unsampled))
		echo "comments: $whole ms used, $sampled ms sampled, $unsampled ms unsampled"
		[ $((sampled + unsampled)) -ge $((whole - 2)) ] || exit 1
		[ $((whole * 1000000)) -ge $((used * 8 / 10)) ] || exit 1
	done || fail "the unsampled time is not written down"
finish
