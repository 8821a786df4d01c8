# SPDX-License-Identifier: BSD-3-Clause
# For the tests of the I/O mode.
. "$srcdir/tests/lib/e2e.sh"

# Run a command with its input and output profiled: $work/NAME.pb; as profiled.
io_profiled() { # name command...
	profiled_by IOPROFILE "$@"
}

# "calls ns bytes errors" of the rows whose stack and labels match.
io_values() { # file stack-regex [labels-regex]
	"$pprof_check" --raw "$1" 2>/dev/null | stack=$2 labels=${3:-.} awk -F'\t' '
		$3 ~ ENVIRON["stack"] && $2 ~ ENVIRON["labels"] { split($1, v, ","); for (i = 1; i <= 4; i++) sum[i] += v[i] }
		END { printf "%d %.0f %.0f %d\n", sum[1], sum[2], sum[3], sum[4] }'
}

# The exact counts of an op and kind, from the comments.
check_io_counts() { # file "op kind" calls bytes errors
	"$pprof_check" --comments "$1" 2>/dev/null | grep -q "io: $2: $3 calls, $4 bytes, $5 errors, " ||
		fail "$1: $2 has not $3 calls, $4 bytes, $5 errors: $("$pprof_check" --comments "$1" | grep "io: ")"
}

# The rows of each op and kind sum to the exact counts of the comments.
check_io_rows_sum() { # file
	"$pprof_check" --comments "$1" 2>/dev/null | sed -n 's/^io: \([a-z]*\) *\([a-z0-9]*\): \(.*\) calls, \(.*\) bytes, \(.*\) errors, .*/\1 \3 \4 \5 \2/p' >"$work/exact"
	[ -s "$work/exact" ] || fail "$1: no exact counts"
	while read -r op calls bytes errors kind; do
		got=$(io_values "$1" . "op=$op${kind:+,kind=$kind}(,|\$)" | cut -d' ' -f1,3,4)
		[ "$got" = "$calls $bytes $errors" ] || fail "$1: rows have $got of $op $kind, not $calls $bytes $errors"
	done <"$work/exact"
}
