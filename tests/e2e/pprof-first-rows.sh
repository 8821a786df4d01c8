#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# go tool pprof -top begins with the program's functions in heap and lock profiles, without operator new, std::vector's inside and
# pthread_mutex_lock; a function of the program that runs below std::vector's is not lost. cprof shows all frames, and merge -all-frames
# writes a file in which pprof does.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" go
$CXX -O2 -g -pthread -o "$work/host" "$srcdir/tests/e2e/pprof-first-rows-host.cc" || fail "the host doesn't compile"

LD_PRELOAD=$CP_LIBRARY HEAPPROFILE=$work/heap.pb CPROF_HEAP_INTERVAL=1 "$work/host" heap || fail "host heap: $?"
LD_PRELOAD=$CP_LIBRARY LOCKPROFILE=$work/lock.pb CPROF_LOCK_THRESHOLD=0 "$work/host" lock || fail "host lock: $?"

rows() { # file option...
	local file=$1
	shift
	go tool pprof -symbolize=none -top "$@" "$file" 2>/dev/null | sed '1,/flat%/d'
}

first() { # file option...: names of the first three
	rows "$@" | head -n 3 | sed 's/^ *\([^ ]* *\)\{5\}//' | tr '\n' ' '
}

# Without lines, as the library writes it.
[[ "$(first "$work/lock.pb")" == update* ]] || fail "lock: $(first "$work/lock.pb")"
[[ "$(first "$work/heap.pb")" == *keep_block* ]] || fail "heap: $(first "$work/heap.pb")"

for name in heap lock lock.holders; do
	check_valid_as "${name#lock.}" "$work/$name.pb"
	"$cprof" symbolize -o "$work/$name.full.pb" "$work/$name.pb" || fail "$name is not symbolized"
	"$cprof" symbolize -o "$work/$name.again.pb" "$work/$name.full.pb" || fail "$name is not symbolized again"
	rows "$work/$name.full.pb" >"$work/full"
	rows "$work/$name.again.pb" | cmp -s - "$work/full" || fail "$name: symbolizing it again changes it"
	"$cprof" merge -o "$work/$name.merged.pb" "$work/$name.full.pb" || fail "merge $name"
	rows "$work/$name.merged.pb" | cmp -s - "$work/full" || fail "$name: merging it changes it"
	"$cprof" top -full-names -own= -unit=minimum -nodefraction=0 -drop_frames "$work/$name.full.pb" | sed '1,/own%/d' | cmp -s - <(rows "$work/$name.full.pb" -nodefraction=0) ||
		fail "$name: -drop_frames shows other rows than pprof"
	"$cprof" merge -all-frames -o "$work/$name.all.pb" "$work/$name.full.pb" || fail "merge -all-frames $name"
	"$cprof" top -full-names -own= -unit=minimum -nodefraction=0 "$work/$name.full.pb" | sed '1,/own%/d' >"$work/ours"
	rows "$work/$name.all.pb" -nodefraction=0 | cmp -s - "$work/ours" || fail "$name: pprof's rows of -all-frames are not cprof's"
done

heap=$(first "$work/heap.full.pb")
[[ $heap == *keep_block* && $heap == *keep_text* && $heap == *item::item* ]] || fail "heap: $heap"
for file in lock lock.holders; do
	[[ "$(first "$work/$file.full.pb")" == update* ]] || fail "$file: $(first "$work/$file.full.pb")"
done
"$cprof" top "$work/heap.full.pb" | grep -q ' operator new$' || fail "cprof top doesn't show operator new"
"$cprof" top "$work/lock.full.pb" | grep -q ' pthread_mutex_lock$' || fail "cprof top doesn't show pthread_mutex_lock"
# Every byte is still in the same function of the program.
for function in keep_block keep_text keep_item item::item 'pool<int>::allocate' keep_number; do
	with=$(rows "$work/heap.all.pb" -cum -nodefraction=0 | awk -v f="$function" '$6 == f { print $4; exit }')
	without=$(rows "$work/heap.full.pb" -cum -nodefraction=0 | awk -v f="$function" '$6 == f { print $4; exit }')
	[ "$with" ] && [ "$with" = "$without" ] || fail "$function has $without, not $with"
done
finish
