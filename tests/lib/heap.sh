# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts about heap profiles.
. "$srcdir/tests/lib/e2e.sh"

# Run a command with a heap profile: like profiled. ALLOCATOR: a library to preload after libcprof.
heap_profiled() { # name command...
	name=$1
	shift
	rm -f "$work/$name".pb* "$work/$name".peak.pb
	status=0
	$limit env LD_PRELOAD="$CP_LIBRARY${ALLOCATOR:+ $ALLOCATOR}" HEAPPROFILE="$work/$name.pb" "$@" \
		>"$work/$name.out" 2>"$work/$name.err" || status=$?
}

check_heap() { # file...
	check_valid_as heap "$@"
}

# Sums of the four values over stacks whose functions match a regular expression.
heap_values() { # file regex
	"$pprof_check" --raw "$1" 2>/dev/null | re=$2 awk -F '\t' '
		$3 ~ ENVIRON["re"] { split($1, v, ","); for (i = 1; i <= 4; i++) s[i] += v[i] }
		END { printf "%d %d %d %d\n", s[1], s[2], s[3], s[4] }'
}

values_are() { # file regex values
	got=$(heap_values "$1" "$2")
	[ "$got" = "$3" ] || fail "${1##*/}: $2 is $got, not $3"
}

# Each site that the program of a run names, three at least, has the values that it prints.
sites_are_as_said() { # name
	local site truth sites=0
	while read -r site truth; do
		sites=$((sites + 1))
		values_are "$work/$1.pb" "(^|;)$site(;|\$)" "$truth"
	done <"$work/$1.out"
	[ "$sites" -ge 3 ] || fail "$1: $sites sites"
}

# Allocators that are installed: glibc's own, and libraries to preload.
allocators() {
	echo glibc
	[ "${CP_LIBC:-}" != musl ] || return 0
	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2 libmimalloc.so.2.0; do
		LD_PRELOAD=$library sh -c : 2>&1 | grep -q . || echo "$library"
	done | awk '/mimalloc/ && seen++ { next } { print }'
}

use_allocator() { # of allocators
	ALLOCATOR=
	[ "$1" = glibc ] || ALLOCATOR=$1
}

# "run SITE values" for each function site_*, of a profile; a stack is the innermost one's.
heap_sites() { # file
	"$pprof_check" --raw "$1" 2>/dev/null | awk -F '\t' '
		match($3, /site_[a-z]+/) {
			site = substr($3, RSTART, RLENGTH)
			split($1, v, ",")
			seen[site] = 1
			for (i = 1; i <= 4; i++) s[site, i] += v[i]
		}
		END { for (k in seen) printf "run %s %d %d %d %d\n", k, s[k, 1], s[k, 2], s[k, 3], s[k, 4] }'
}

# Watch one page in so many in place of 256: in a copy of the library, whose name is in CP_LIBRARY afterwards. Skips the
# test where the library has no symbols.
watch_one_page_in() { # pages
	local address at offset
	address=$($NM "$CP_LIBRARY" 2>/dev/null | sed -n 's/ [dD] cp_heap_census_pages$//p')
	[ "$address" ] || skip "the library has no symbols"
	read -r at offset <<<"$($READELF -SW "$CP_LIBRARY" | sed -n 's/.* \.data  *PROGBITS  *\([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')"
	mkdir -p "$work/census" && cp "$CP_LIBRARY" "$work/census/libcprof.so" && CP_LIBRARY=$work/census/libcprof.so
	printf "$(printf '\\x%02x\\x%02x' $(($1 & 255)) $(($1 >> 8)))" |
		dd of="$CP_LIBRARY" bs=1 seek=$((0x$address - 0x$at + 0x$offset)) conv=notrunc 2>/dev/null
}
