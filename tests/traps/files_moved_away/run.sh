# SPDX-License-Identifier: BSD-3-Clause
# Trap: the profile is read on another machine, or after the binaries were moved away: all
# names are in the file.
. "$srcdir/tests/lib/loader.sh"
need go

mkdir "$work/here"
program p
plugin a
mv "$work/p" "$work/a.so" "$work/here"
ends_well profiled moved "$work/here/p" open "$work/here/a.so" work 150 burn 150
check_valid "$work/moved.pb"
mv "$work/here" "$work/elsewhere"
for symbolize in default none; do
	option=
	[ $symbolize = none ] && option=-symbolize=none
	go tool pprof $option -top "$work/moved.pb" >"$work/top.$symbolize" 2>"$work/top.err" ||
		fail "pprof -top: $(cat "$work/top.err")"
	for f in hot_a burn_loop main work __libc_start_main; do
		grep -q " $f\$" "$work/top.$symbolize" || fail "$symbolize: no $f"
	done
done
cmp "$work/top.none" "$work/top.default" || fail "pprof symbolizes something itself"
go tool pprof -traces "$work/moved.pb" 2>/dev/null | grep -q ' hot_a$' || fail "no hot_a in -traces"
finish
