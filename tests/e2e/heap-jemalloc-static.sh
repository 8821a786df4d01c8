# SPDX-License-Identifier: BSD-3-Clause
# A jemalloc that is linked into the program: seen through its hooks, which a comment says. Exact mode
# is the truth to the byte for every function that is hooked, by two threads; sampled mode is within
# its error and finds the leak; also where mallctl is no dynamic symbol, and where it has a prefix.
. "$srcdir/tests/lib/heap.sh"
limit=$bounded

archive=${JEMALLOC_LIBRARY:-$($CC -print-file-name=libjemalloc.a)}
[ -f "$archive" ] || skip "there is no libjemalloc.a"
cc() { # program source option...
	program=$1 source=$2
	shift 2
	$CC -O1 -g -fno-builtin -o "$work/$program" "$srcdir/tests/e2e/$source" "$@" -lstdc++ -lm -ldl \
		-lpthread >"$work/cc.log" 2>&1
}
cc plain heap-sites.c "$archive" || skip "nothing links with $archive: $(tail -n 1 "$work/cc.log")"

check_said() { # name
	check_quiet "$1"
	check_comment "$work/$1.pb" 'through its hooks jemalloc'
	check_comment "$work/$1.pb" ' 0 frees that were not seen'
}

exact() { # name program argument...
	CPROF_HEAP_INTERVAL=1 ends_well heap_profiled "$1" "$work/$2" "${@:3}"
	check_heap "$work/$1.pb" "$work/$1.peak.pb"
	check_said "$1"
	sites_are_as_said "$1"
}

heap_profiled version "$work/plain" exact
# A jemalloc after 5.3.1: 763 samples of its own are expected.
if grep -q 'tells of its own samples only: it must run with' "$work/version.err"; then
	MALLOC_CONF=prof:true,prof_active:true runs_well heap_profiled own "$work/plain" leak 400000000
	check_heap "$work/own.pb"
	check_comment "$work/own.pb" 'tells of the blocks that it samples itself: interval 524288 bytes'
	read -r _ _ _ bytes <<<"$(heap_values "$work/own.pb" 'planted_leak')"
	[ "$bytes" -gt 320000000 ] && [ "$bytes" -lt 500000000 ] || fail "own samples: $bytes bytes, not 400000000"
	[[ $(heap_values "$work/own.pb" site_page) == *" 0 0" ]] || fail "own samples: site_page leaks"
	finish
fi
grep -q 'hooks of jemalloc .* are not known\|takes no hooks\|tells of its own' "$work/version.err" &&
	skip "of this jemalloc: $(cat "$work/version.err")"

exact plain plain exact
cc dynamic heap-sites.c "$archive" -rdynamic || fail "-rdynamic: $(cat "$work/cc.log")"
exact dynamic dynamic exact
cc fixed heap-sites.c "$archive" -no-pie && exact fixed fixed exact
cc api heap-jemalloc.c "$archive" || fail "$(cat "$work/cc.log")"
exact api api

# Stopped and started: the hooks go and come; blocks of the run before, and of no run, are in neither.
cc again heap-api.c -I"$srcdir/include" "$archive" "$CP_LIBRARY" -Wl,-rpath,"${CP_LIBRARY%/*}" || fail "$(cat "$work/cc.log")"
status=0
$limit "$work/again" "$work/first.pb" "$work/second.pb" "$work/dump.pb" 2>"$work/again.err" || status=$?
check_status again 0
check_heap "$work/first.pb" "$work/second.pb" "$work/dump.pb"
check_quiet again
check_comment "$work/first.pb" 'through its hooks jemalloc'
check_comment "$work/second.pb" 'through its hooks jemalloc'
while read -r file site truth; do
	got=$(heap_values "$work/$file.pb" "(^|;)$site(;|\$)")
	[ "$got" = "$truth" ] || fail "$file: $site is $got, not $truth"
done <<-'TRUTH'
	first site_first 10 1000 9 900
	first site_between 0 0 0 0
	second site_first 0 0 0 0
	second site_between 0 0 0 0
	second site_second 5 1500 4 1200
	dump site_second 5 1500 5 1500
	second site_labelled 6 2400 6 2400
TRUTH

# A name that is known, and nothing else: the program's malloc is libc's, its je_malloc jemalloc's.
names="malloc calloc realloc free posix_memalign aligned_alloc memalign valloc malloc_usable_size mallctl
	mallctlnametomib mallctlbymib mallocx rallocx xallocx sallocx dallocx sdallocx nallocx"
renames= defines=
for name in $names; do
	renames="$renames --redefine-sym $name=je_$name"
	defines="$defines -D$name=je_$name"
done
if command -v objcopy >/dev/null && objcopy $renames "$archive" "$work/prefixed.a" 2>"$work/cc.log"; then
	cc prefixed heap-jemalloc.c $defines "$work/prefixed.a" && exact prefixed prefixed
fi

# 763 samples are expected; the standard error of one run is 3.6 %.
ends_well heap_profiled sampled "$work/plain" leak 400000000
check_heap "$work/sampled.pb"
check_said sampled
read -r _ _ objects bytes <<<"$(heap_values "$work/sampled.pb" 'planted_leak')"
[ "$bytes" -gt 320000000 ] && [ "$bytes" -lt 480000000 ] || fail "sampled: $bytes bytes, not 400000000"
[ "$objects" -gt 320000 ] && [ "$objects" -lt 480000 ] || fail "sampled: $objects objects, not 400000"
[[ $(heap_values "$work/sampled.pb" site_page) == *" 0 0" ]] || fail "site_page leaks"

# Without symbols mallctl can't be found, and that nothing is seen is said.
if command -v strip >/dev/null && strip -o "$work/stripped" "$work/plain"; then
	ends_well heap_profiled stripped "$work/stripped" exact
	[ "$(grep -c "^libcprof: allocations of this program can't be seen: " "$work/stripped.err")" = 1 ] ||
		fail "stripped says: $(cat "$work/stripped.err")"
fi
finish
