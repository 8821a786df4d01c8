# SPDX-License-Identifier: BSD-3-Clause
# Which part of what is in use is resident, per stack; and the table of the process's resident memory, which adds up to it.
. "$srcdir/tests/lib/heap.sh"

# Sums of values 4 to 7 of a site: in use, resident, swapped, untouched, in MB.
resident() { # file site
	"$pprof_check" --raw "$1" 2>/dev/null | awk -F '\t' -v site="$2" '
		index($3, site) { split($1, v, ","); for (i = 4; i <= 7; i++) s[i] += v[i] }
		END { printf "%d %d %d %d\n", s[4] / 1048576 + .5, s[5] / 1048576 + .5, s[6] / 1048576 + .5, s[7] / 1048576 + .5 }'
}

# In exact mode nothing is estimated. The allocator writes to the page before each block, and to that of the block's first
# bytes: 16 bytes of a page of the next block, too.
slack=$((2 + 200 * $(getconf PAGESIZE) / 1048576)) # MB: a page of each of the 200 blocks
for interval in 1 512K; do
	CPROF_HEAP_VIEWS=resident CPROF_HEAP_INTERVAL=$interval runs_well heap_profiled resident ./tests/e2e/heap-views-host resident
	check_heap "$work/resident.pb"
	for site in touched:100:0 half:50:50 untouched:0:100; do
		IFS=: read -r name present absent <<<"$site"
		read -r all in swapped out <<<"$(resident "$work/resident.pb" "site_$name")"
		# What is sampled varies, but the parts of each block are right.
		if [ "$all" -lt 150 ] || [ $((all - in - swapped - out)) -lt -$slack ] || [ $((all - in - swapped - out)) -gt $slack ] ||
			[ $((in + swapped)) -lt $((all * present / 100 - slack)) ] || [ "$out" -lt $((all * absent / 100 - slack)) ]; then
			fail "$interval: site_$name: $all MB in use, $in resident, $swapped swapped, $out untouched"
		fi
	done
done
# Without a wish where allocations are sampled, and only there.
while read -r types interval views; do
	env CPROF_HEAP_INTERVAL="$interval" ${views:+CPROF_HEAP_VIEWS="$views"} LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/plain.pb" \
		./tests/e2e/heap-views-host resident
	"$pprof_check" --raw "$work/plain.pb" | awk -F '\t' -v n="$types" 'split($1, v, ",") != n { exit 1 }' ||
		fail "interval $interval, views ${views:-not set}: not $types types"
done <<'TEXT'
8 512K
4 1
4 512K none
4 512K lifetimes,fragmentation
TEXT

# What the allocator gave for the blocks in use, against its own malloc_usable_size.
for allocator in $(allocators); do
	use_allocator "$allocator"
	CPROF_HEAP_VIEWS=resident CPROF_HEAP_INTERVAL=1 ends_well heap_profiled usable ./tests/e2e/heap-views-host usable
	check_heap "$work/usable.pb"
	said=$(cat "$work/usable.out")
	read -r all given <<<"$("$pprof_check" --raw "$work/usable.pb" |
		awk -F '\t' '/site_odd_sizes/ { split($1, v, ","); all += v[4]; given += v[8] } END { print all + 0, given + 0 }')"
	# A large block of glibc may have a page less or more, according to where the block comes from.
	[ "$given" -gt "$all" ] && [ $((given - said)) -lt $((said / 200)) ] && [ $((said - given)) -lt $((said / 200)) ] ||
		fail "$allocator: usable_space is $given bytes of $all requested, and malloc_usable_size says $said"
done
ALLOCATOR=

table() { # file name
	"$pprof_check" --comments "$1" | sed -n "s/.*resident memory:.*[:,;] $2: \([0-9]*\) kB.*/\1/p; s/.*\($2\): \([0-9]*\) kB;.*/\2/p" | head -n 1
}

# Of 64 MB in blocks of 1 kB one in eight is in use, but the pages stay.
ends_well heap_profiled spare ./tests/e2e/heap-views-host spare
used=$(table "$work/spare.pb" 'heap in use') spare=$(table "$work/spare.pb" 'heap not in use')
rounded=$(table "$work/spare.pb" 'its sizes rounded up')
# Each block of 1 kB takes 8 bytes more.
[ "${rounded:-0}" -ge 20 ] && [ "$rounded" -le 200 ] || fail "rounded up: $rounded kB of $used kB"
[ "${spare:-0}" -gt 40000 ] && [ "${used:-0}" -gt 2000 ] && [ "$((used + rounded + spare))" -gt 62000 ] ||
	fail "heap: $used kB in use, $spare kB not: $("$pprof_check" --comments "$work/spare.pb")"
if [ -x "$cprof" ]; then
	for verb in info leaks; do
		"$cprof" $verb "$work/spare.pb" >"$work/shown"
		grep -Eq '^Resident memory of the process: [0-9.]+ MB$' "$work/shown" &&
			grep -Eq '^ +[0-9.]+ MB [0-9. ]+%  heap not in use(, ±[0-9.]+%)?$' "$work/shown" || fail "cprof $verb shows $(cat "$work/shown")"
	done
	grep -Eq '^ +[0-9.]+ [kM]B [0-9. ]+%  heap in use, as far as resident(, ±[0-9.]+%)?$' "$work/shown" || fail "leaks shows $(cat "$work/shown")"
	"$cprof" leaks "$work/spare.pb" 2>&1 >/dev/null | grep -q 'hint: [0-9.]*% is heap that is not in use: CPROF_HEAP_VIEWS=fragmentation' ||
		fail "cprof leaks gives no hint"
fi

# The kernel's counter of resident pages is a sum of counters of each processor, each of which may lag by some pages.
adds_up() { # name file
	local all rss
	all=$(table "$2" 'resident memory')
	rss=$("$pprof_check" --comments "$2" | sed -n 's/.*memory of the process: \([0-9]*\) kB resident.*/\1/p')
	[ "${rss:-0}" -gt 1000 ] && [ $((all - rss)) -lt $((rss * 3 / 100 + 512)) ] && [ $((rss - all)) -lt $((rss * 3 / 100 + 512)) ] ||
		fail "$1: $all kB in the table, $rss kB resident"
}

# A thousand groups are a line of 7,000 bytes before the sizes.
groups="setpriv --groups $(seq -s, 100000 100999)"
if $groups true 2>/dev/null; then
	heap_profiled groups $groups ./tests/e2e/heap-views-host spare
	adds_up groups "$work/groups.pb"
else
	echo "many groups are not tested: that needs root"
fi
adds_up spare "$work/spare.pb"
adds_up resident "$work/resident.pb"
echo 'int main(void) { return 0; }' >"$work/a.c"
type -P python3 >/dev/null && heap_profiled python python3 -c 'a = [str(i) for i in range(300000)]' && adds_up python3 "$work/python.pb"
type -P sqlite3 >/dev/null && heap_profiled sqlite sqlite3 :memory: 'create table t as with recursive c(x) as (select 1 union all select x+1 from c limit 100000) select x from c' &&
	adds_up sqlite3 "$work/sqlite.pb"
type -P clang >/dev/null && CPROF_SYMBOLIZE=none heap_profiled clang.%p clang -fsyntax-only "$work/a.c" && for f in "$work"/clang.*[0-9].pb; do adds_up clang "$f"; done
finish
