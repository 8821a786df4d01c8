# SPDX-License-Identifier: BSD-3-Clause
# What partly used pages keep in memory, per stack, against a program that knows it: exactly where every page is watched,
# within 5 standard errors where one page in 16 is. For every allocator, sampled and in exact mode.
. "$srcdir/tests/lib/heap.sh"

# Compares a run's file with what the program says. FACTOR: pages per watched page. SLACK: what the truth lacks of a site:
# other blocks (stdio, threads) lie on a few of its pages.
compare() { # name factor slack
	"$pprof_check" --raw "$work/$1.fragmentation.pb" >"$work/raw"
	awk -F '\t' -v n="$2" -v slack="$3" "$awk_root"'
		NR == FNR { split($0, w, " "); held[w[1]] = w[2]; space[w[1]] = w[3]; objects[w[1]] = w[4]; squares[w[1]] = w[5]; next }
		match($3, /site_[a-z]+/) {
			site = substr($3, RSTART, RLENGTH)
			split($1, v, ",")
			o[site] += v[1]; s[site] += v[2]; h[site] += v[4]
		}
		function off(site, what, got, want, error) {
			if (got - want > error || want - got > error) printf "%s: %s %d, not %d +- %d\n", site, what, got, want, error
		}
		END {
			for (k in held) {
				off(k, "held", h[k], held[k], 5 * root(n * (n - 1) * squares[k]) + slack * held[k] + 4096)
				off(k, "objects", o[k], objects[k], 5 * root(n * objects[k]) * 8 * (n > 1) + slack * objects[k])
				if (n == 1) off(k, "space", s[k], space[k], slack * space[k] + 16384)
			}
		}' "$work/$1.out" "$work/raw" >"$work/wrong"
	[ ! -s "$work/wrong" ] || fail "$allocator, $1: $(cat "$work/wrong"; "$pprof_check" --comments "$work/$1.fragmentation.pb")"
}

own=$CP_LIBRARY
census() { # name interval pages
	CP_LIBRARY=$own
	watch_one_page_in "$3"
	CPROF_SYMBOLIZE=names CPROF_CHECKPOINT=0 CPROF_HEAP_VIEWS=fragmentation CPROF_HEAP_INTERVAL=$2 \
		heap_profiled "$1" ./tests/e2e/heap-census-host
	check_ended "$1" 0
	check_valid_as fragmentation "$work/$1.fragmentation.pb"
}

for allocator in $(allocators); do
	use_allocator "$allocator"
	census every 512K 1
	compare every 1 0.03
	census exact 1 1
	compare exact 1 0.01
	census some 512K 16
	compare some 16 0.03
	for name in every some; do
		"$pprof_check" --comments "$work/$name.fragmentation.pb" | grep -q 'lost: 0 blocks for lack of memory; .* 0 frees that were not seen' ||
			fail "$allocator, $name: $("$pprof_check" --comments "$work/$name.fragmentation.pb" | grep lost:)"
	done
done
heap_profiled without ./tests/e2e/heap-sites leak 1000000
[ ! -e "$work/without.fragmentation.pb" ] || fail "fragmentation without a wish"
finish
