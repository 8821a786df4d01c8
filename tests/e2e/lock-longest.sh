# SPDX-License-Identifier: BSD-3-Clause
# The longest wait of each row of a lock profile: as long as the hold at least, and at most what the program measured.
. "$srcdir/tests/lib/lock.sh"

longest_of() { # file function
	"$pprof_check" --raw "$1" 2>/dev/null | awk -F'\t' -v stack="(^|;)$2;" '
		$3 ~ stack && $2 ~ /(^|,)lock=the_lock(,|$)/ && match($2, /(^|,)longest=[0-9]+/) {
			split(substr($2, RSTART, RLENGTH), v, "=")
			if (v[2] > most) most = v[2] }
		END { printf "%d\n", most }'
}

check_longest() { # file function least most
	got=$(longest_of "$1" "$2")
	[ "$got" -ge "$3" ] && [ "$got" -le "$4" ] || fail "$(basename "$1"): the longest wait in $2 is $got ns, not $3 to $4"
}

# A wait of 20 ms or more is recorded in any case.
runs_well lock_profiled on ./tests/e2e/lock-longest-host
check_valid_as lock "$work/on.pb" "$work/on.holders.pb"
while read -r function most; do
	least=1000000
	[ "$function" = wait_short ] || least=60000000
	check_longest "$work/on.pb" "$function" $least "$most"
done <"$work/on.out"

if [ -x "$cprof" ]; then
	"$cprof" locks "$work/on.pb" >"$work/locks"
	grep -Eq '^the_lock: .* in [0-9]+ waits, .*, the longest (6[0-9]|[7-9][0-9]|[0-9]{3})(\.[0-9]+)? ms' "$work/locks" &&
		grep -Eq '^ *[0-9.]+ ms +[0-9.]+ ms  wait_long( |$)' "$work/locks" || fail "cprof locks: $(cat "$work/locks")"
fi
finish
