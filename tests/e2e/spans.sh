# SPDX-License-Identifier: BSD-3-Clause
# Spans: samples by their name, the slow ones told apart, latencies among the comments.
. "$srcdir/tests/lib/e2e.sh"
need go
host=./tests/e2e/spans-host

# ms in samples with these labels, both of them.
with() { # regex...
	go tool pprof -nodefraction=0 -top -unit=ms "$@" "$work/spans.pb" 2>/dev/null |
		sed -n 's/^Showing nodes accounting for \([0-9]*\)[.0-9]*ms.*/\1/p'
}

near() { # what got expected ms
	awk -v g="${2:-0}" -v e="$3" -v o="$4" 'BEGIN { d = g > e ? g - e : e - g; exit !(d <= o) }' ||
		fail "$1: $2 ms, expected $3, $4 more or less"
}

env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/spans.pb" WALLPROFILE_FREQUENCY=500 CPROF_SPAN_SLOW=100ms \
	"$host" >"$work/spans.out" 2>"$work/spans.err" || fail "exit status $?"
check_quiet spans
check_valid_as wall "$work/spans.pb"
everything=$(sed -n 's/^all //p' "$work/spans.out")
truth=$(sed -n 's/^slow //p' "$work/spans.out")
slow=$(with -tagfocus=slow:1) all=$(with -tagfocus=span=request) inner=$(with -tagfocus=span=inner)
echo "slow: $slow ms of $truth; all requests: $all ms of $everything; inner: $inner ms"
# Each end of a span may be off by the time between two looks: 2 ms, and more where the profile says that
# looks were missed, at both threads. The ends are as often too early as too late.
missed=$("$pprof_check" --comments "$work/spans.pb" | sed -n 's/.*; \([0-9]*\) rounds were missed.*/\1/p')
[ -n "$missed" ] || fail "the comments don't say how many rounds were missed"
near "slow spans" "$slow" "$truth" "$((8 * 2 + missed * 4))"
near "requests" "$all" "$everything" "$((40 * 2 + missed * 4))"
[ "${inner:-0}" -gt 0 ] || fail "no sample in the inner span"
go tool pprof -tags "$work/spans.pb" >"$work/tags" 2>/dev/null
grep -q 'span_ms:' "$work/tags" || fail "no span_ms: $(cat "$work/tags")"
[ -z "$(with -tagfocus=slow:1 -tagignore=span=request)" ] || [ "$(with -tagfocus=slow:1 -tagignore=span=request)" = 0 ] ||
	fail "a span that is not slow has slow=1"
check_comment "$work/spans.pb" '^span request: 20, p50 [0-9.]+ ms, p90 [0-9.]+ ms'
p90=$(sed -n 's/^p90 //p' "$work/spans.out")
# A number stands for its bucket.
near "p90 of requests" "$("$pprof_check" --comments "$work/spans.pb" | sed -n 's/^span request: .* p90 \([0-9]*\)[.0-9]* ms.*/\1/p')" \
	"$p90" "$((p90 / 128 + 1))"
finish
