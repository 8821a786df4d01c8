# SPDX-License-Identifier: BSD-3-Clause
# The last seconds before it happened: the program asks for them itself (cprof_dump_last), or the library writes them
# (CPROF_DUMP_ON). The file of CPU time has the slow request, which was the last one, and hardly anything of what was
# before; its sums are those of its events.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof"
host=$builddir/tests/e2e/flight-host
cd "$work"

# FILE has the slow request, and the function that made it slow in the first rows.
has_slow_request() { # file
	check_valid "$1"
	"$pprof_check" --times "$1" | awk '$1 == "span" && $3 > 9e8 { n++ } END { exit !n }' ||
		fail "$1: the slow request isn't in it: $("$cprof" spans "$1" 2>&1 | head -n 8)"
	"$cprof" top -in-span=request -span-longer=900ms "$1" >top.out 2>&1
	grep -A 1 '^ *own ' top.out | sed -n 2p | grep -q rebuild_index || fail "$1: $(cat top.out)"
}

CPUPROFILE_FREQUENCY=1000 CPROF_CPU_ENGINE=perf WALLPROFILE=asked.wall.pb profiled asked "$host" last
check_status asked 0
[ "$(cat asked.out)" = -22 ] || fail "a dump of the last 0 seconds: $(cat asked.out)"
has_slow_request asked.0001.pb
check_valid_as wall asked.wall.0001.pb
check_comment asked.0001.pb '^dump: the last [0-9.]+ s, of [0-9.]+ s'
"$pprof_check" --times asked.0001.pb | awk '
	$1 == "event" { sum += $4; if ($2 < 0) print "an event before the start" }
	END { if (sum < 9e8 || sum > 1.5e9) print sum, "ns, not a second and a bit" }' >said
[ ! -s said ] || fail "asked.0001.pb: $(cat said)"
"$cprof" info asked.0001.pb >info.out
awk '/cpu\/nanoseconds total/ { exit !($3 > 9e8 && $3 < 1.5e9) }' info.out || fail "not the slow request alone: $(cat info.out)"

# The library does so by itself, once a minute, with the reason; the program and its last file are as ever.
CPUPROFILE_FREQUENCY=1000 CPROF_CPU_ENGINE=perf CPROF_DUMP_ON='span:other>1ms,span:request>900ms' WALLPROFILE=long.wall.pb profiled long "$host" twice
check_ended_valid long 0
has_slow_request long.0001.pb
check_valid_as wall long.wall.0001.pb
check_comment long.0001.pb '^dump: span request took [1-9][0-9]*\.[0-9]+ s on thread [0-9]+ \(flight-host\), until [0-9:]{8}\.[0-9]{3} UTC$'
check_comment long.pb '^span request: 10000,'
"$pprof_check" --comments long.pb | grep '^dump:' && fail "the last file has a reason"
[ ! -e long.0002.pb ] || fail "two dumps within a minute"

# A dump when waits have just ended leaves them with who held the lock: it held it for half a second, and three waited.
# Where processors are scarce, requests wait for each other, too.
held() { awk '/;vacuum/ { of += $NF } /holder unknown/ { unknown += $NF } END { exit !(of > 1e9 && unknown < 0.2 * of) }' "$1"; }
CPUPROFILE_FREQUENCY=1000 CPROF_DUMP_ON='span:request>300ms' LOCKPROFILE=held.lock.pb profiled held "$host" lock
check_ended_valid held 0
check_valid_as lock held.lock.0001.pb
"$cprof" folded -sample_index=blocking held.lock.holders.pb >held.folded
held held.folded || fail "held: $(cat held.folded)"

# The dump has the holders of its waits beside it, as other dumps have.
check_valid_as holders held.lock.holders.0001.pb
"$cprof" folded -sample_index=blocking held.lock.holders.0001.pb >held.folded
held held.folded || fail "held, the dump: $(cat held.folded)"
"$cprof" locks -span-longer=300ms held.lock.0001.pb >held.locks 2>&1
grep -q '^ *[0-9.]* m\?s .*query  *[0-9.]* m\?s  vacuum$' held.locks || fail "held, locks: $(cat held.locks)"

# Memory in use: of the process, and of the machine or the group.
CPROF_DUMP_ON='rss>100M' HEAPPROFILE=grown.heap.pb profiled grown "$builddir/tests/e2e/heap-views-host" grow 150
check_ended_valid grown 0
check_valid_as heap grown.heap.0001.pb
check_comment grown.heap.0001.pb '^dump: resident memory has passed 102400 kB: '
CPROF_DUMP_ON='rss>1%' profiled share "$builddir/tests/e2e/heap-views-host" grow 50
check_comment share.0001.pb '^dump: memory has passed 1%: [0-9]+ kB of [0-9]+ kB \('

CPROF_DUMP_ON='rss>1k%' profiled bad "$host"
grep -q 'CPROF_DUMP_ON=rss>1k%' bad.err || fail "a bad value: $(cat bad.err)"
[ ! -e bad.0001.pb ] || fail "a bad value makes a dump"
finish
