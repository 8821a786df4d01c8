# SPDX-License-Identifier: BSD-3-Clause
# `cprof timeline`: rows of threads, the moment that differs, what returns periodically, and nothing where nothing differs.
. "$srcdir/tests/lib/e2e.sh"
[ -x "$builddir/cprof" ] || skip "the cprof tool is not built"
make=$builddir/tests/tools/make-times
says() { grep -q -- "$1" "$work/out" || fail "\"$1\" is not in: $(cat "$work/out")"; }
timeline() { "$cprof" timeline "$@" >"$work/out" 2>&1 || fail "timeline $*: $? $(cat "$work/out")"; }

# Four workers that run at random 40 % of the time, a flush every 10 s, and a spike of 2 s on two of them. In the lock
# file short waits at random, and one moment at which all wait for one lock. Two threads are idle.
made() { # seed with the differences?
	awk -v with="$2" 'BEGIN {
		srand('"$1"')
		print "time 1700000000s\nend 60s\ntype samples count\ntype cpu nanoseconds"
		for (t = 1; t <= 4; t++) for (i = 0; i < 2400; i++) row(int(rand() * 60000), t, 0)
		if (with) for (k = 0; k < 6; k++) for (i = 0; i < 20; i++) row(5000 + 10000 * k + i * 10, 0, 1)
		if (with) for (t = 1; t <= 2; t++) for (i = 0; i < 200; i++) row(32000 + i * 10, t, 2)
		split("compute flush rebuild", name, " ")
		for (r = 0; r < 3; r++) print "sample main;" name[r + 1], n[r] + 0, n[r] * 1e7
		print "thread 100 main\nthread 101 worker-1\nthread 102 worker-2\nthread 103 worker-3\nthread 104 worker-4\nthread 105 x\nthread 106 x"
		for (i = 0; i < all; i++) print event[i]
		for (i = 0; i < 60; i++) print "counter " i "s", i < 30 || !with ? 1e8 : 4e8, i "00ms"
	}
	function row(ms, t, r) { event[all++] = "event " ms "ms " t " " r " 10ms"; n[r]++ }' | "$make" "$3"
}
made 7 1 "$work/cpu.pb.gz"
awk 'BEGIN {
	srand(3)
	for (t = 1; t <= 4; t++) for (i = 0; i < 200; i++) row(rand() * 60000, t, 0, rand() * 3)
	for (t = 1; t <= 4; t++) row(44000 + t, t, 1, 300)
	print "time 1700000000s\nend 60s\ntype contentions count\ntype delay nanoseconds"
	print "sample main;queue_pop;lock=queue", n[0], sum[0] "ms\nsample main;config_lock;lock=config", n[1], sum[1] "ms"
	for (t = 0; t < 5; t++) print "thread", 100 + t, t ? "worker-" t : "main"
	for (i = 0; i < all; i++) print event[i]
}
function row(ms, t, r, d) { event[all++] = "event " ms "ms " t " " r " " d "ms " d "ms"; n[r]++; sum[r] += d }' | "$make" "$work/lock.pb.gz"

printf '%s\n' 'time 1700000000s' 'end 60s' 'type waits count' 'type blocking nanoseconds' 'sample main;reload;lock=config 1 1s' 'sample main;push;lock=queue 1 9s' \
	'thread 100 main' 'thread 101 worker-1' 'event 44s 0 0 300ms 290ms' 'event 44s 1 1 300ms 300ms' | "$make" "$work/lock.holders.pb.gz"

export LC_ALL=C
cd "$work" || exit 1
timeline cpu.pb.gz lock.pb.gz
says '^worker-1 *[.:=*#@+-]\{60,\} '
says '^2 more threads, idle: 0$'
says '^resident memory .* 381 MB$'
says '^Resident memory grows by 286 MB between 29.0s and 30.0s[.]$'
says '^From 4[34].[0-9]*s to 44.3[0-9]*s [0-9.]* threads wait for lock config in config_lock, 0.00 in the rest of the run, on 4 threads worker-\*; it is held longest in reload, by thread main.$'
says '^    cprof locks -from=4[34].[0-9]*s -to=44.3[0-9]*s lock.pb.gz$'
says '^From 3[12].[0-9]*s to 34.[0-9]*s rebuild takes [12].[0-9]* processors, .* on 2 threads worker-\*.$'
says '^    cprof top -from=3[12].[0-9]*s -to=34.[0-9]*s cpu.pb.gz$'
says '^Every 10.0*s for 0.20*s, 6 times from [45].[0-9]*s on, flush takes 1.00 processors, on thread main.$'
[ "$(grep -c '^From' out)" = 2 ] || fail "other moments: $(cat out)"
awk 'length > 100 && !/^(From|Every| )/' out | grep . && fail "wider than 100 columns"
$(sed -n 's/^    cprof \(.*lock.*\)/'"${cprof//\//\\/}"' \1/p' out) 2>&1 | grep -q 'config_lock' || fail "the command does not show it"

# The picture's sums are the file's; a window has its own axis, and the times of the commands are those of the run.
timeline -json cpu.pb.gz
python3 - out <<'END' || fail "JSON"
import json, sys
d = json.load(open(sys.argv[1]))
rows = d["files"][0]["rows"]
assert abs(sum(sum(r["cells"]) for r in rows) - (4 * 2400 + 120 + 400) * 1e7) < 1e4, sum(r["total"] for r in rows)
assert [m["function"] for m in d["moments"]] == ["rebuild", "flush"], d["moments"]
assert abs(d["moments"][1]["every_ns"] - 1e10) < 2e7
assert all(cell < d["column_ns"] * 1.001 for r in rows for cell in r["cells"])
END
# A sample of the wall clock that stands for more than its moment, and waits for work.
{
	printf '%s\n' 'end 4s' 'type samples count' 'type wall nanoseconds' 'sample pool_main;serve;state=runnable 1 363ms' 'sample pool_main;serve;state=running 1 3s'
	printf '%s\n' 'sample pool_main;pop;wait=condition 1 3s' 'thread 1 one' 'thread 2 two' 'event 2s 0 0 363ms' 'event 0s 0 1 3s 3s' 'event 0s 1 2 3s 3s'
} | "$make" spread.pb.gz
timeline spread.pb.gz
grep -E -- '-0\.00|(^| )([2-9]|[0-9]{2,})\.[0-9]+ threads' out && fail "more threads than there are"
timeline -by=state spread.pb.gz
says '^waits for work '
{
	printf '%s\n' 'end 9s' 'type contentions count' 'type delay nanoseconds' 'sample pool_main;pop;pthread_cond_wait;lock=work 8 16s' 'sample pool_main;serve;lock=cache 2 20ms'
	printf 'thread %s pool-%s\n' 1 1 2 2
	for i in 0 2 4 6; do printf 'event %ss %s 0 2s 2s\n' $i 0 $i 1; done
	printf 'event %sms 0 1 10ms 10ms\n' 2000 4000
} | "$make" idle.pb.gz
timeline idle.pb.gz
says '^idle.pb.gz: delay (without waits for work); '
says '^pool-1 .* 20 ms$'
# Of a thinned index an event counts for a dropped one on another thread, at its own time: eight threads wait for half a second.
awk 'BEGIN {
	print "end 30s\nthinning 2\ntype samples count\ntype wall nanoseconds"
	for (t = 0; t < 8; t++) print "thread " t " worker-" t
	for (t = 0; t < 8; t++) for (i = 0; i < 300; i++) {
		if (i >= 120 && i < 125) continue
		if ((i + t) % 2) { print "event " i "00ms " t " 1 100ms 100ms"; sum += 200 }
	}
	for (t = 0; t < 8; t += 2) print "event 12s " t " 0 500ms 500ms"
	print "sample main;config;state=waiting;wait=lock 8 4s\nsample main;serve;state=waiting;wait=network 8 " sum "ms\nrecorded 0 4s\nrecorded 1 " sum "ms"
}' | "$make" thinned.pb.gz || fail "make-times thinned"
timeline thinned.pb.gz
says '^From 12.00s to 12.50s 8.00 threads are in config [[]lock[]] (wall), 0.00 in the rest of the run, on at least [2-7] threads'
# What happens on another thread at the time of a moment has its own times.
awk 'BEGIN {
	print "end 30s\ntype samples count\ntype wall nanoseconds\nthread 1 one\nthread 2 two\nthread 3 three"
	print "sample main;serve;state=waiting;wait=network 8 30s\nsample start;ask;state=waiting;wait=network 8 600ms\nsample begin;burn;state=runnable 8 400ms"
	for (i = 0; i < 300; i++) print "event " i "00ms 0 0 100ms 100ms"
	for (i = 0; i < 60; i++) print "event " 12000 + 10 * i "ms 1 1 10ms 10ms"
	for (i = 0; i < 40; i++) print "event " 12000 + 15 * i "ms 2 2 10ms 10ms"
}' | "$make" beside.pb.gz || fail "make-times beside"
timeline beside.pb.gz
says '^From 12.00s to 12.60s 1.00 threads are in ask [[]network[]]'
says '^From 12.00s to 12.60s 0.67 threads are in burn [[]ready to run[]]'
# With a heap profile the command shows what was born meanwhile.
{
	printf '%s\n' 'end 20s' 'dump 1700000020s' 'type alloc_objects count' 'type alloc_space bytes' 'type inuse_objects count' 'type inuse_space bytes'
	printf '%s\n' 'sample main;cache 4 4e8 4 4e8' 'sample main;other 20 2e6 20 2e6' 'thread 1 one'
	for i in 1 2 3 4; do echo "event 12${i}00ms 0 0 100000000"; done
	for i in {1..19}; do echo "event ${i}100ms 0 1 100000"; done
	for i in {0..19}; do echo "counter ${i}s $((i > 12 ? 500000000 : 100000000)) 1s"; done
} | "$make" heap.pb.gz
timeline heap.pb.gz
says '^Resident memory grows by 381 MB between 12.0s and 13.0s; cache allocates 381 MB of it, from 12.07s to 12.43s:$'
says '^    cprof top -cum -sample_index=alloc_space -focus=cache -from=12.07s -to=12.43s heap.pb.gz$'
grep -A1 '^Resident' out | sed -n 's/^    cprof/"$cprof"/p' >command
(. ./command) 2>&1 | grep -q '^ *381 *MB.*cache' || fail "the command of the jump: $(. ./command 2>&1)"
timeline -json heap.pb.gz
python3 -c 'import json, sys; j = json.load(open(sys.argv[1]))["memory_jumps"]; assert j[0]["to_ns"] == 13e9 and j[0]["bytes"] == 4e8, j' out || fail "JSON"
timeline -from=31s -to=36s cpu.pb.gz
says 'rebuild takes .*'
says 'top -from=3[12].[0-9]*s -to=34.[0-9]*s cpu.pb.gz'
timeline -by=state -focus=flush cpu.pb.gz
says '^cpu  .* 1.20 s$'
LC_ALL=C.UTF-8 timeline cpu.pb.gz
says '█'

# One run, several modes. Handlers burn CPU time and allocate all the time; at 4 s one of them rebuilds, at 8 s main
# loads 96 MB, at 12 s handlers wait for a lock, at 16 s two batches take the processors from them.
cat >run.awk <<'END'
BEGIN {
	srand(11); rows = 0
	print "time 1700000000s\nend 22s"
	for (s = 0; s < 22; s++) counters = counters "counter " s "s " (s < 9 ? 1e8 : 2e8) " 1s\n"
	split("main handler-1 handler-2 handler-3 handler-4 batch-1 batch-2 admin", name, " ")
	for (t = 1; t <= 8; t++) threads = threads "thread " 99 + t " " name[t] "\n"
	if (mode == "cpu" || mode == "wall") {
		for (t = 1; t <= 4; t++) for (i = 0; i < 800; i++) row(rand() * 22000, t, "start;serve;handle;burn", 5)
		for (i = 0; i < 90; i++) row(4000 + i * 10, 1, "start;serve;handle;rebuild;burn", 10)
		for (i = 0; i < 40; i++) row(8000 + i * 10, 0, i % 20 ? "main;load_geoip;load_table" : "main", 10)
		for (t = 5; t <= 6; t++) for (i = 0; i < 300; i++) row(16000 + i * 10, t, "begin;batch_job;burn", 10)
	}
	if (mode == "wall") {
		for (t = 1; t <= 4; t++) row(12000, t, "start;serve;handle;read_config;wait=lock", 700, 700)
		for (t = 5; t <= 7; t++) row(3000, t, "start;run;wait=child", 10200, 10200)
		for (t = 1; t <= 4; t++) for (i = 0; i < 150; i++) row(16000 + i * 20, t, "start;serve;handle;burn;state=runnable", 16, 16)
		for (t = 1; t <= 4; t++) for (i = 0; i < 100; i++) row(rand() * 22000, t, "start;serve;handle;sleep;wait=sleep", 20, 20)
	} else if (mode == "starved") {
		for (t = 1; t <= 4; t++) for (i = 0; i < 800; i++) row(rand() * 22000, t, "start;serve;handle;burn", 5, 5)
		for (t = 5; t <= 6; t++) for (i = 0; i < 100; i++) row(16000 + i * 30, t, "begin;batch_job;burn", 10, 10)
		for (t = 5; t <= 6; t++) for (i = 0; i < 100; i++) row(16010 + i * 30, t, "begin;batch_job;burn;state=runnable", 20, 20)
	} else if (mode == "lock") {
		for (t = 1; t <= 4; t++) row(12000 + t, t, "start;serve;handle;read_config;lock=config", 700, 700)
		for (t = 1; t <= 4; t++) for (i = 0; i < 200; i++) row(rand() * 22000, t, "start;serve;take;lock=queue", r = rand(), r)
	} else if (mode == "holders") {
		row(12000, 7, "start;reload;lock=config", 2800, 700)
	} else if (mode == "heap") {
		for (i = 0; i < 4000; i++) birth(i * 5.4, 1 + i % 4, "start;serve;handle;render", 4e6, i * 5.4 + 5)
		for (i = 0; i < 96; i++) birth(8100 + i / 2, 0, "main;load_geoip;load_table;xmalloc", 1e6)
		for (i = 0; i < 40; i++) birth(500 * i, 0, "main;log;xmalloc", 1e4)
	}
	types["cpu"] = "samples count:cpu nanoseconds"; types["wall"] = types["starved"] = "samples count:wall nanoseconds"
	types["lock"] = "contentions count:delay nanoseconds"; types["holders"] = "waits count:blocking nanoseconds"
	types["heap"] = "alloc_objects count:alloc_space bytes:inuse_objects count:inuse_space bytes"
	if (mode == "heap") print "dump 1700000022s"
	for (i = split(types[mode], type, ":"); i > 0; i--) lines = "type " type[i] "\n" lines
	printf "%s", lines
	for (i = 0; i < rows; i++) print "sample", stack[i], n[i], sum[i] (mode == "heap" ? " 1 1" : "ms")
	printf "%s%s", threads, counters
	for (i = 0; i < all; i++) print event[i]
}
function number(s) { if (!(s in at)) { at[s] = rows; stack[rows++] = s }; return at[s] + 0 }
function row(ms, t, s, ns, d) { r0 = number(s); event[all++] = "event " ms "ms " t " " r0 " " ns "ms" (d ? " " d "ms" : ""); n[r0]++; sum[r0] += ns }
function birth(ms, t, s, bytes, end) {
	r0 = number(s); event[all++] = "event " ms "ms " t " " r0 " " bytes; n[r0]++; sum[r0] += bytes
	if (end) event[all++] = "death " end "ms " t " " r0 " " bytes
}
END
mkdir one
for mode in cpu wall starved lock holders heap; do
	name=$mode
	[ $mode != holders ] || name=lock.holders
	awk -v mode=$mode -f run.awk | "$make" one/$name.pb || fail "make-times $mode"
done
cd one || exit 1
out=../out
moments() { timeline "$@" && grep '^\(From\|Every\|Resident\)' "$work/out"; }
for file in cpu wall lock lock.holders heap; do moments $file.pb >$file; done
moments cpu.pb lock.pb >two
moments heap.pb wall.pb lock.pb cpu.pb lock.holders.pb >all
moments cpu.pb starved.pb >starved
# A moment that one file tells is told with more files, too, and what several tell is told once.
told() { # files count text...
	local in=$1 times=$2
	shift 2
	for text; do [ "$(grep -c -- "$text" "$in")" = "$times" ] || fail "\"$text\" not $times times in $in: $(cat "$in")"; done
}
told cpu 1 '^From .* batch_job takes ' '^From .* rebuild takes ' '^From .* load_geoip takes \|^From .* load_table < load_geoip takes '
told cpu 0 ' main takes '
told wall 1 '^From 1[12][.0-9]*s to 12.[67][0-9]*s [34][.0-9]* threads are in read_config [[]lock[]]' # within a longer wait
told lock 1 'threads wait for lock config in read_config.*held longest in reload, by thread admin'
told lock.holders 1 '^From .*reload makes [34].* threads wait for lock config'
told two 1 batch_job rebuild load_geoip 'read_config.*held longest in reload, by thread admin'
told all 1 '^Resident.* load_geoip ' 'batch_job takes' '^From.* [34][.0-9]* threads are in burn [[]ready to run[]]' '^From.*rebuild' '^From.*load_geoip' 'lock config in read_config.*held longest in reload'
told all 0 '^From.*alloc_space' meanwhile 'read_config \[lock\]' 'reload makes' 'sleep'
told starved 1 'batch_job takes .*; meanwhile 1.[0-9]* threads are ready to run, but have no processor, 0.00 in the rest of the run'
# What made memory jump is named with its moment, not the churn, and there is no moment without a difference above it.
told heap 1 'Resident memory grows by 95.4 MB between 8.0s and 9.0s; xmalloc < load_geoip allocates 9[0-9.]* MB of it, from 8[.]0[0-9]*s to 8[.]1[0-9]*s:$'
timeline heap.pb
grep '^No moment' $out && fail "no moment, but a jump"
grep -A1 '^Resident' $out | sed -n 's/^    cprof/"$cprof"/p' >command
(. ./command) >shown 2>&1
grep -q ' load_geoip' shown || fail "the command does not show it: $(cat command shown)"
grep 'render' shown && fail "the command shows churn"
cd ..
# Ready to run is no sleep, also where nothing else is told.
moments one/wall.pb >wall
grep -i sleep wall && fail "ready is told as sleep"

# Chance alone: nothing is told.
for seed in 1 2 3; do
	made $seed "" even.pb.gz
	timeline even.pb.gz
	says '^No moment differs from the rest of the run beyond chance.$'
	grep '^Every' out && fail "chance is periodic"
done
grep -v '^[ed]' </dev/null | "$make" none.pb.gz
"$cprof" timeline none.pb.gz 2>out && fail "no index"
says 'none.pb.gz has no time index (CPROF_TIMES=off, a window, or an older version)'
finish
