# SPDX-License-Identifier: BSD-3-Clause
# The time index as the tool reads it: windows, spans, -latency, merged files, and what other readers make of it.
. "$srcdir/tests/lib/e2e.sh"
[ -x "$builddir/cprof" ] || skip "the cprof tool is not built"
make=$builddir/tests/tools/make-times

sum() { "$cprof" folded "$@" 2>>"$work/said" | awk '{ n += $NF } END { printf "%.0f\n", n }'; } # option... file
is() { [ "$2" = "$3" ] || fail "$1: \"$2\", not \"$3\""; }                                     # what got expected
says() { # text command...
	local text=$1
	shift
	"$@" >"$work/says" 2>&1
	grep -q -- "$text" "$work/says" || fail "$*: \"$(cat "$work/says")\" has no \"$text\""
}

# One thread for 2 s, then four for 4 s, then one; a sample each 100 ms, and a value without a time. Waits overlap the
# windows' edges. Requests are spans; the slow one is the tenth.
awk 'BEGIN {
	print "time 1700000000s\nend 10s\ntype samples count\ntype cpu nanoseconds"
	split("alone 20,a 40,b 40,c 40,d 40,tail 10", rows, ",")
	for (i = 1; i <= 6; i++) { split(rows[i], r, " "); print "sample main;" r[1], r[2], r[2] * 1e8 + i }
	print "sample [unsampled] 0 500ms\ncomment libcprof 1, mode cpu, pid 77, Linux"
	for (t = 0; t < 4; t++) print "thread", 100 + t, "t" t
	for (i = 1; i <= 20; i++) print "event", i * 100 "ms", 0, 0, "100ms"
	for (i = 1; i <= 40; i++) for (t = 0; t < 4; t++) print "event", 2000 + i * 100 + t "ms", t, 1 + t, "100ms"
	for (i = 1; i <= 10; i++) print "event", 6010 + i * 100 "ms", 1, 5, "100ms"
	for (i = 0; i < 20; i++) print "span", i * 300 "ms", (i == 9 ? 500 : 20) "ms", i % 4, i % 2 ? "request" : "load"
	print "counter 1s 1000000 900ms\nwake 3s 0 1 2"
}' >"$work/cpu.txt"
cpu=$work/cpu.pb.gz
"$make" "$cpu" <"$work/cpu.txt" || fail "make-times: $?"
all=$(sum "$cpu") timed=$(($(sum "$cpu") - 500000000))

# Windows that follow each other add up, for each type; a window's rows are its events.
tiles() { # file type timed edge...
	local file=$1 type=$2 want=$3 before=0 total=0 to
	shift 3
	for to in "$@" ""; do
		total=$((total + $(sum -sample_index="$type" -from="$before" ${to:+-to="$to"} "$file")))
		before=$to
	done
	is "windows of $type in $(basename "$file")" "$total" "$want"
}
tiles "$cpu" cpu "$timed" 1s 1.95 2003ms 3s 3001ms 6s
tiles "$cpu" samples 190 0.1 1950ms 2003ms 3s 5.05
is "two seconds" "$(sum -from=22:13:21Z -to=2023-11-14T22:13:23Z "$cpu")" "$(sum -from=1s -to=3 "$cpu")"
is "the last second" "$(sum -last=3700ms "$cpu")" "$(sum -from=6.3 "$cpu")"
"$cprof" folded -from=2050ms -to=2250ms "$cpu" 2>"$work/said" | sort >"$work/rows"
is "rows of a window" "$(tr '\n' ',' <"$work/rows")" "main;a 200000000,main;b 200000000,main;c 200000000,main;d 200000000,"
says 'Window: from 2.05 s to 2.25 s of 10 s; 4.10% of all cpu; 2.56% of it has no time and is left out' cat "$work/said"
says '^Window: from 2.05 s to' "$cprof" top -from=2050ms -to=2250ms "$cpu"
says '"to_ns": 2250000000' "$cprof" top -json -to=2250ms "$cpu"

# What is merged or written of a window has the index of just that.
"$cprof" merge -from=2s -to=4s -o "$work/part.pb.gz" "$cpu" 2>"$work/said" || fail "merge: $?"
is "part of a window" "$(sum -from=0.5 -to=1 "$work/part.pb.gz")" "$(sum -from=2.5 -to=3 "$cpu")"
"$cprof" strip-labels -o "$work/strip.pb.gz" "$cpu" || fail "strip-labels: $?"
is "a window after strip-labels" "$(sum -to=3.3 "$work/strip.pb.gz")" "$(sum -to=3.3 "$cpu")"
sed 's/time 1700000000s/time 1700000002s/; s/pid 77/pid 78/; s/main;/other;/' "$work/cpu.txt" | "$make" "$work/later.pb.gz"
is "two processes" "$(sum -from=1s -to=3s "$cpu" "$work/later.pb.gz")" \
	"$(($(sum -from=1s -to=3s "$cpu") + $(sum -to=1s "$work/later.pb.gz")))"
"$cprof" merge -o "$work/both.pb.gz" "$cpu" "$work/later.pb.gz" || fail "merge of two: $?"
is "two merged processes" "$(sum -from=1s -to=3s "$work/both.pb.gz")" "$(sum -from=1s -to=3s "$cpu" "$work/later.pb.gz")"
says '8 threads, 40 spans of 2 names, 2 wakes' "$cprof" info "$work/both.pb.gz"
grep -v '^[ed]\|thread\|span\|counter\|wake' "$work/cpu.txt" | "$make" "$work/old.pb.gz"
says "the time index is not of all files: $work/old.pb.gz has none" "$cprof" merge -o "$work/some.pb.gz" "$cpu" "$work/old.pb.gz"
is "a window of a file with an index and one without" "$(($(sum -from=1s -to=3s "$work/some.pb.gz") / 1000))" \
	"$(($(sum -from=1s -to=3s "$cpu") / 1000))"
is "a window of both" "$(sum -from=1s -to=3s "$work/old.pb.gz" "$cpu")" "$(sum -from=1s -to=3s "$cpu")"
says "old.pb.gz has no time index: its values are left out" "$cprof" top -from=1s -to=3s "$work/old.pb.gz" "$cpu"
says "the time index is left out of a difference" "$cprof" merge -base="$work/old.pb.gz" -o "$work/none.pb.gz" "$cpu"
says "old.pb.gz has no time index (CPROF_TIMES=off, a window, or an older version)" "$cprof" top -from=1s "$work/old.pb.gz"

# The page goes on without a file that has none, if another one has.
says "old.pb.gz is left out" "$cprof" flame -from=1s -o "$work/page.html" "$work/old.pb.gz" "$cpu"
grep -q 'main' "$work/page.html" || fail "no page: $(cat "$work/says")"
"$cprof" flame -from=1s -o "$work/none.html" "$work/old.pb.gz" "$work/old.pb.gz" 2>"$work/said" && fail "a page of nothing"

# Spans and running threads. Those of the index have percentiles, and the slowest a command that shows what was done.
"$cprof" spans "$cpu" >"$work/spans" || fail "cprof spans: $?"
is "the row of requests" "$(awk '$NF == "request" { print $1, $2, $4, $6, $8, $10, $12 }' "$work/spans" | head -1)" "10 68 20 500 500 500 -"
is "slowest spans" "$(grep -c 'cprof top' "$work/spans")" 10
is "windows of spans" "$("$cprof" spans -from=2s -to=4s "$cpu" 2>>"$work/said" | awk '$NF == "request" { print $1 }')" 4
says '^1 span took 100ms or more' "$cprof" spans -slow=100ms "$cpu"
says 'slow=fast is no duration' "$cprof" spans -slow=fast "$cpu"
says 'old.pb.gz tells of no span' "$cprof" spans -slow=1ms "$work/old.pb.gz"
ln -s "$cpu" "$work/it's a file"
"$cprof" spans -from=1s -to=3s -slow=100ms "$work/it's a file" 2>>"$work/said" | sed -n 's/^ *cprof top/sum/p' >"$work/command"
is "the command of the slowest span" "$(. "$work/command")" 500000000
says 'slow=1x is no duration' "$cprof" run -slow=1x true
is "the slow request" "$(sum -span-longer=100ms "$cpu")" 500000000
is "requests" "$(sum -in-span=request "$cpu")" "$(sum -in-span=request -from=0 "$cpu")"
says 'there are load, request' "$cprof" top -in-span=nothing "$cpu"
# While four threads run, each counts a quarter: 2 s alone, four times 1 s together, 1 s alone.
"$cprof" folded -latency "$cpu" 2>"$work/said" | awk '{ sum += $NF; if ($1 ~ /;[a-d]$/) four += $NF }
	END { exit !(sum > 6.9e9 && sum < 7.1e9 && four > 3.9e9 && four < 4.1e9) }' || fail "-latency: $("$cprof" folded -latency "$cpu")"

# Spans of several files of one run are told once, and how they spent their time; holders by the waits that are chosen.
{
	printf '%s\n' 'end 10s' 'type contentions count' 'type delay nanoseconds' 'sample main;query;lock;lock=db 3 700ms' 'thread 1 a' 'thread 2 b'
	printf '%s\n' 'event 1s 0 0 500ms 500ms' 'event 1400ms 1 0 100ms 100ms' 'event 3s 1 0 100ms 100ms' 'span 1s 600ms 0 request' 'span 1350ms 300ms 1 request'
} | "$make" "$work/of.pb.gz"
{
	printf '%s\n' 'end 10s' 'type waits count' 'type blocking nanoseconds' 'sample main;vacuum;lock=db 2 600ms' 'sample main;refresh;lock=db 1 100ms'
	printf '%s\n' 'thread 3 c' 'event 1200ms 0 0 600ms 300ms 2' 'event 3s 0 1 100ms 100ms'
} | "$make" "$work/of.holders.pb.gz"
{
	printf '%s\n' 'end 10s' 'type samples count' 'type cpu nanoseconds' 'sample main;compute 9 90ms' 'thread 1 a' 'thread 2 b'
	for i in 1 2 3 4 5 6 7 8 9; do echo "event 15${i}0ms 0 0 10ms"; done
	printf '%s\n' 'span 1s 600ms 0 request' 'span 1350ms 300ms 1 request'
} | "$make" "$work/of.cpu.pb.gz"
"$cprof" spans "$work/of.cpu.pb.gz" "$work/of.pb.gz" >"$work/spans" || fail "spans of two modes: $?"
is "spans of two modes" "$(sed -n 's/^.*600 ms.*request, /request, /p' "$work/spans")" "request, a (1): lock db 500 ms, CPU 90 ms"
is "their command" "$(grep -m 1 'cprof locks' "$work/spans" | xargs)" "cprof locks -in-span=request -from=1.000000 -to=1.600000 $work/of.pb.gz"
caused() { "$cprof" locks "$@" "$work/of.pb.gz" 2>>"$work/said" | awk '$3 == "lock" { print $1 $2, $(NF - 2) $(NF - 1), $NF }'; }
is "the holder of the slow request's lock" "$(caused -span-longer=500ms)" "500ms 500ms vacuum"
is "the holder of both" "$(caused -in-span=request)" "600ms 600ms vacuum"
is "the holder until then" "$(caused -to=1.2)" "200ms 200ms vacuum"
is "the holder from then on" "$(caused -from=1.45 -to=2)" "100ms 100ms vacuum"
says 'these spans took 600 ms, of which 90 ms is CPU time' "$cprof" top -span-longer=500ms "$work/of.cpu.pb.gz"

# A sample stands for 10 ms, and no span has more CPU time than it is long.
printf '%s\n' 'end 10s' 'type samples count' 'type cpu nanoseconds' 'sample main;compute 1 10ms' 'thread 1 a' 'event 6001ms 0 0 10ms' \
	'span 6s 2ms 0 tiny' | "$make" "$work/tiny.cpu.pb.gz"
"$cprof" spans "$work/tiny.cpu.pb.gz" "$work/of.pb.gz" >"$work/spans" || fail "a short span: $?"
is "a short span" "$(sed -n 's/^.* tiny, /tiny, /p' "$work/spans")" "tiny, a (1): CPU 2 ms"

# Waits and calls: the overlapping part; values in use: those at the window's end; thinned events.
printf '%s\n' 'end 10s' 'type contentions count' 'type delay nanoseconds' 'sample main;lock 4 3s' 'thread 1 one' \
	'event 1s 0 0 2s 2s' 'event 4s 0 0 1s 1s 3' | "$make" "$work/lock.pb.gz"
tiles "$work/lock.pb.gz" delay 3000000000 1.5 2s 4.5
is "part of a wait" "$(sum -from=2s -to=2.5 "$work/lock.pb.gz")" 500000000
{
	printf '%s\n' 'end 10s' 'dump 1700000010s' 'type alloc_objects count' 'type alloc_space bytes' 'type inuse_objects count' 'type inuse_space bytes'
	printf '%s\n' 'sample main;new 8 8000 0 0' 'sample main;before 1 70 1 70' 'sample main;new;age=1 0 0 2 2000' 'sample main;new;age=2 0 0 3 3000' 'thread 1 one'
	for i in 1 2 3 4 5 6 7 8; do echo "event ${i}s 0 0 1000"; done
	for i in 2 5 9; do echo "death ${i}500ms 0 0 1000"; done
} | "$make" "$work/heap.pb.gz"
tiles "$work/heap.pb.gz" alloc_space 8000 2s 3.3 7s
for at in 2.2:2070 2.6:1070 5.2:4070 9:6070 10:5070; do
	is "in use at ${at%:*} s" "$(sum -sample_index=inuse_space -to="${at%:*}" "$work/heap.pb.gz")" "${at#*:}"
done
is "in use at a time of day" "$(sum -sample_index=inuse_space -to=22:13:25.2Z "$work/heap.pb.gz")" 4070
"$cprof" merge -from=1s -to=5.2 -o "$work/then.pb.gz" "$work/heap.pb.gz" 2>>"$work/said" || fail "merge of a dump: $?"
is "in use within a window" "$(sum -sample_index=inuse_space -to=22:13:22.2Z "$work/then.pb.gz")" 2070
says 'Window: from 0 to 5.20 s of 10 s; 3.97 kB inuse_space at its end, 4.95 kB at that of the run' "$cprof" top -to=5.2 "$work/heap.pb.gz"
says '4.07 kB in 5 blocks\|In use: 3.97 kB' "$cprof" leaks -to=5.2 "$work/heap.pb.gz"
says 'is for CPU and wall profiles' "$cprof" top -latency "$work/heap.pb.gz"
sed 's/^end 10s/end 10s\nthinning 2\nseen 380/; /event .*[02468]00ms 0 0/d; s/2000 [*]//' "$work/cpu.txt" |
	sed '/^thread 100/i recorded 0 2s' | "$make" "$work/thin.pb.gz"
"$cprof" folded -from=0 "$work/thin.pb.gz" 2>/dev/null | grep -q '^main;alone 2000000001$' || fail "a thinned row: $("$cprof" folded -from=0 "$work/thin.pb.gz")"
says '180 events from 0.000 s to 10.000 s, each for 2' "$cprof" info "$work/thin.pb.gz"
says 'only 18 samples' "$cprof" top -to=2.25 "$work/thin.pb.gz"

# Options that can't be meant.
for try in "-from=1x:is no duration" "-from=12-99:is no duration" "-from=25:61:is no time like" "-from=11s:is after the end" \
	"-to=0:leaves nothing" "-last=1s -to=2s:excludes" "-span-longer=fast:is no duration"; do
	says "${try##*:}" "$cprof" top ${try%:*} "$cpu"
done
# A cut file keeps all but its index.
zcat "$cpu" | head -c -9 >"$work/cut.pb"
says 'cut.pb: its time index is not used: it is cut: the data ends in the middle of it' "$cprof" top "$work/cut.pb"
is "a cut file" "$(sum "$work/cut.pb")" "$all"
says 'no time is known of .*cut.pb: its index is cut' "$cprof" top -from=1s "$work/cut.pb"

# Other readers take the file as if it had no index.
if type -P go >/dev/null; then
	"$cprof" info "$cpu" | grep -q '^times' || fail "there is no index to pass over"
	go tool pprof -top -nodefraction=0 -unit=ms -sample_index=cpu "$cpu" >"$work/pprof" 2>&1
	is "go tool pprof" "$(sed -n 's/.* of \(.*\) total$/\1/p' "$work/pprof")" 19500ms
fi
if type -P protoc >/dev/null; then
	zcat "$cpu" | protoc --decode_raw >"$work/raw" || fail "protoc can't decode it"
	grep -q '^7361 {' "$work/raw" || fail "protoc shows no field 7361"
fi
finish
