# SPDX-License-Identifier: BSD-3-Clause
# Spans: samples by their name; latencies, CPU time and bytes among the comments,
# in cprof_get_span_stats and in cprof spans.
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

env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/spans.pb" HEAPPROFILE="$work/heap.pb" WALLPROFILE_FREQUENCY=500 \
	"$host" >"$work/spans.out" 2>"$work/spans.err" || fail "exit status $?"
check_quiet spans
check_valid_as wall "$work/spans.pb"
everything=$(sed -n 's/^all //p' "$work/spans.out")
all=$(with -tagfocus=span=request) inner=$(with -tagfocus=span=inner)
echo "all requests: $all ms of $everything; inner: $inner ms"
# Each end of a span may be off by the time between two looks: 2 ms, and more where the profile says that
# looks were missed, at both threads. The ends are as often too early as too late.
missed=$("$pprof_check" --comments "$work/spans.pb" | sed -n 's/.*; \([0-9]*\) rounds were missed.*/\1/p')
[ -n "$missed" ] || fail "the comments don't say how many rounds were missed"
near "requests" "$all" "$everything" "$((40 * 2 + missed * 4))"
[ "${inner:-0}" -gt 0 ] || fail "no sample in the inner span"
check_comment "$work/spans.pb" '^span request: 20, p50 [0-9.]+ ms, p90 [0-9.]+ ms'
p90=$(sed -n 's/^p90 //p' "$work/spans.out")
# A number stands for its bucket.
near "p90 of requests" "$("$pprof_check" --comments "$work/spans.pb" | sed -n 's/^span request: .* p90 \([0-9]*\)[.0-9]* ms.*/\1/p')" \
	"$p90" "$((p90 / 128 + 1))"

# What the threads used in their spans. The program's own reading is around the span, and other
# processes may take the processor in between.
said() { "$pprof_check" --comments "$work/spans.pb" | sed -n "s/^span request: .*$1 \([0-9]*\).*/\1/p"; }
told() { sed -n "s/^$1 //p" "$work/spans.out"; }
near "CPU time of requests" "$(said CPU)" "$(told cpu)" 3
near "waiting of requests" "$(said waiting)" "$(($(said sum) - $(told cpu)))" 3
[ "$(said allocated)" = "$(told bytes)" ] || fail "allocated in requests: $(said allocated), not $(told bytes) bytes"
check_comment "$work/heap.pb" "^span request: 20, .* allocated $(told bytes) bytes"

# In exact mode, and of short spans, of which one in 16 is measured. An empty span's time is taken off.
for interval in 1 512K; do
	env LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/short.pb" CPROF_HEAP_INTERVAL=$interval \
		"$host" short >"$work/short.out" 2>"$work/short.err" || fail "short: exit status $?"
	check_quiet short
	awk -v i=$interval '$1 == "stats" { cpu = $2; bytes = $4 } $1 == "cpu" { ran = $2 } $1 == "bytes" { truth = $2 }
		END {
			printf "%s: short spans: %.1f ms of CPU, the work alone %.1f; %d bytes\n", i, cpu / 1e6, ran / 1e6, bytes
			exit !(bytes == truth && cpu > ran * 0.75 && cpu < ran * 1.35)
		}' "$work/short.out" || fail "$interval: short spans: $(cat "$work/short.out")"
done

[ -x "$builddir/cprof" ] || finish
"$builddir/cprof" spans "$work/spans.pb" | sed 's/\([0-9]\) \([mu]\?s\|kB\)\b/\1\2/g' >"$work/table" || fail "cprof spans: exit status $?"
cat "$work/table"
each() { awk -v f="$1" '$NF == "request" { print $f }' "$work/table"; }
[ "$(each 1)" = 20 ] && [ "$(each 9)" = "$(awk -v b="$(told bytes)" 'BEGIN { v = b / 20 / 1024; printf "%.*fkB", v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v }')" ] ||
	fail "cprof spans: $(cat "$work/table")"
near "cprof spans: CPU" "$(each 7 | sed -n 's/ms$//p')" "$(($(told cpu) / 20))" 2
near "cprof spans: wall time" "$(each 10 | awk '{ print $1 * (/[0-9]ms$/ ? 1 : 1000) }')" "$all" 10
# Of a merged profile: all spans of a name in one row. Nothing from a file reaches the terminal as it is.
env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/second.pb" WALLPROFILE_FREQUENCY=500 "$host" >/dev/null || fail "second: exit status $?"
"$builddir/cprof" merge "$work/spans.pb" "$work/second.pb" -o "$work/both.pb" || fail "no merge"
"$builddir/cprof" spans "$work/both.pb" | sed 's/\([0-9]\) \([mu]\?s\|kB\)\b/\1\2/g' >"$work/table2" || fail "cprof spans, merged: exit status $?"
awk '$NF == "request" { rows++; good += $1 == 40 } END { exit !(rows == 1 && good == 1) }' \
	"$work/table2" || fail "merged: $(cat "$work/table2")"
"$builddir/cprof" spans "$work/both.pb" | grep -v ' cprof ' >"$work/merged"
"$builddir/cprof" spans "$work/spans.pb" "$work/second.pb" | grep -v ' cprof ' | cmp - "$work/merged" || fail "cprof spans of two files differs from that of the merged one"
"$builddir/cprof" spans "$srcdir/tests/fuzz/seeds/fuzz-profile/go-cpu-labels-plain" 2>"$work/none"
[ $? = 2 ] && grep -q 'cprof_span_begin' "$work/none" || fail "no spans: $(cat "$work/none")"
finish
