# SPDX-License-Identifier: BSD-3-Clause
# For the tests of the lock mode.
. "$srcdir/tests/lib/e2e.sh"

# Run a command with its waits profiled: $work/NAME.pb and $work/NAME.holders.pb; as profiled.
lock_profiled() { # name command...
	name=$1
	shift
	rm -f "$work/$name."*pb*
	status=0
	$limit env LD_PRELOAD="$CP_LIBRARY${inner:+ $inner}" LOCKPROFILE="$work/$name.pb" "$@" \
		>"$work/$name.out" 2>"$work/$name.err" || status=$?
}

# lock-host is to say, too, how long libc's functions waited: see lock-inner.c.
with_inner() {
	$CC -O2 -fPIC -shared -nostdlib -o "$work/inner.so" "$srcdir/tests/e2e/lock-inner.c" || skip "no compiler"
	inner=$work/inner.so
}

# The time waited within libc's functions, less a part, and the time that the program measured around the interposed
# functions, plus a part: the profile's clocks are read in between. A thread that is preempted between two of these
# clocks waits by one and not by the other, so neither time alone is the truth; otherwise they are equal.
check_waited() { # what got around within percent-less percent-more
	awk -v got="$2" -v around="$3" -v within="$4" -v less="$5" -v more="$6" 'BEGIN {
		exit !(within > 0 && got * 100 >= within * (100 - less) && got * 100 <= around * (100 + more)) }' ||
		fail "$1: $2, not $4 (-$5 %) to $3 (+$6 %)"
}

# "waits ns" of the rows whose stack and label match. (Regular expressions go through the environment: -v takes their
# backslashes for escapes, and what it makes of them differs between gawk and mawk.)
lock_values() { # file regex [lock-regex]
	"$pprof_check" --raw "$1" 2>/dev/null | stack=$2 lock=${3:-.} awk -F'\t' '
		{ label = "-"
		  if (match($2, /(^|,)lock=[^,]*/)) label = substr($2, RSTART, RLENGTH)
		  sub(/^,?lock=/, "", label) }
		$3 ~ ENVIRON["stack"] && label ~ ENVIRON["lock"] { split($1, v, ","); waits += v[1]; ns += v[2] }
		END { printf "%d %.0f\n", waits, ns }'
}

lock_ns() { # file regex [lock-regex]
	lock_values "$@" | cut -d' ' -f2
}

# GOT is within PERCENT of WANT.
check_near() { # what got want percent
	awk -v got="$2" -v want="$3" -v part="$4" 'BEGIN {
		off = got > want ? got - want : want - got
		exit !(want > 0 && off * 100 <= want * part) }' ||
		fail "$1: $2, not $3 to $4 %"
}

# At least so much of the profile's delay is in stacks that match.
check_delay_share() { # file regex percent
	all=$(lock_ns "$1" .)
	part=$(lock_ns "$1" "$2")
	awk -v part="$part" -v all="$all" -v want="$3" 'BEGIN { exit !(all > 0 && part * 100 >= all * want) }' ||
		fail "$1: $2 has $part ns of $all, not $3 %"
}
