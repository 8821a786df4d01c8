# SPDX-License-Identifier: BSD-3-Clause
# Trap: another module is loaded where the unloaded one was: one's samples get the other's names.
. "$srcdir/tests/lib/loader.sh"

# The same code but for the size of a frame, so that one's rules are wrong for the other. The loader puts a module where
# its file says, if nobody is there.
place=-Wl,-Ttext-segment=0x200000000000
plugin a $place -DROOM=2048 -DPARTING=parting_a
plugin b $place -DROOM=4000 -DPARTING=parting_b
profiled reused "$host" open "$work/a.so" work 300 close again "$work/b.so" work 100 close
[ "$status" = 77 ] && skip "the loader never used the address again"
check_ended_valid reused 0
check_stack "$work/reused.pb" 'hot_a;work;.*main;'
check_stack "$work/reused.pb" 'hot_b;work;.*main;'
check_no_stack "$work/reused.pb" 'hot_[ab];(work;)?[^;]*\[incomplete\]'
check_no_stack "$work/reused.pb" 'hot_[ab];.*;main;(.*;)?main;'
# Its destructors run when what was sampled in it was drained, and then the next one comes.
check_stack "$work/reused.pb" 'hot_a;parting_a;part;.*main;'
# Three times the work is not a matter of noise: both are measured by the thread's CPU clock.
share() { "$pprof_check" --top 0 "$work/reused.pb" | awk -v f="$1" '$5 == f { print int($2) }'; }
[ "$(share hot_a)" -gt "$(share hot_b)" ] || fail "hot_a $(share hot_a) %, hot_b $(share hot_b) %"
if has_go; then
	check_mapping "$work/reused.pb" "$work/a.so" "$(build_id "$work/a.so")"
	check_mapping "$work/reused.pb" "$work/b.so" "$(build_id "$work/b.so")"
	[ "$(mappings "$work/reused.pb" | grep -E '/(a|b)\.so ' | awk '{ print $2 }' | uniq |
		wc -l)" = 1 ] || fail "the modules were not at the same address"
fi
finish
