# SPDX-License-Identifier: BSD-3-Clause
# cprof convert -to=firefox and -to=perfetto: each thread, sample, wait, span, wake and reading of memory of two modes' files is there,
# once, at its time, as a reader of the formats counts them.
. "$srcdir/tests/lib/e2e.sh"
[ -x "$builddir/cprof" ] || skip "the cprof tool is not built"
make=$builddir/tests/tools/make-times
cd "$work" || exit 1

printf '%s\n' 'time 1700000000s' 'comment libcprof 1.0, mode cpu, pid 77, Linux' 'end 5s' 'type samples count' 'type cpu nanoseconds' \
	'sample main;parse 2 20ms' 'sample main;parse;hash 1 10ms' 'thread 77 main' 'thread 78 worker 500ms' 'event 1s 0 0 10ms' 'event 2s 1 0 10ms' \
	'event 2010ms 1 1 10ms' 'span 1s 500ms 0 request' 'span 1100ms 200ms 0 "parse"' 'counter 0 1000' 'counter 1s 4000' 'counter 2s 3000' \
	'wake 2s 1 0' | "$make" cpu.pb
printf '%s\n' 'time 1700000001s' 'comment libcprof 1.0, mode lock, pid 77, Linux' 'end 4s' 'type contentions count' 'type delay nanoseconds' \
	'sample main;lock 1 250ms' 'thread 78 worker' 'event 1s 0 0 250ms 250ms' 'span 0 500ms 0 other' 'counter 1s 9' | "$make" lock.pb
# A heap profile has the time of its end.
printf '%s\n' 'dump 1700000005s' 'comment libcprof 1.0, mode heap, pid 77, Linux' 'end 4s' 'type alloc_objects count' 'type alloc_space bytes' \
	'sample main;new 2 3000' 'thread 77 main' 'event 1s 0 0 1000' 'event 2s 0 0 2000' 'death 3s 0 0 1000' | "$make" heap.pb
for format in firefox perfetto; do
	"$cprof" convert -to=$format -o out.$format cpu.pb lock.pb heap.pb 2>said || fail "$format: $? $(cat said)"
done

python3 - out.firefox <<'END' || fail "Firefox: $(head -c 2000 out.firefox)"
import json, sys
p = json.load(open(sys.argv[1]))
s, strings = p["shared"], p["shared"]["stringArray"]
def names(stack):
    out = []
    while stack is not None:
        out.append(strings[s["funcTable"]["name"][s["frameTable"]["func"][s["stackTable"]["frame"][stack]]]])
        stack = s["stackTable"]["prefix"][stack]
    return ";".join(reversed(out))
def rows(table):
    columns = {k: v for k, v in table.items() if isinstance(v, list)}
    assert all(len(v) == table["length"] for v in columns.values()), table
    return [dict(zip(columns, r)) for r in zip(*columns.values())]
for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"):
    rows(s[name])
assert p["meta"]["preprocessedProfileVersion"] == 60 and p["meta"]["startTime"] == 1700000000000
threads = {t["name"]: t for t in p["threads"]}
assert sorted(threads) == ["main", "worker"] and len(p["threads"]) == 2
main, worker = threads["main"], threads["worker"]
assert main["isMainThread"] and not worker["isMainThread"] and main["pid"] == "77" and worker["tid"] == 78
assert worker["registerTime"] == 500
assert [(names(r["stack"]), r["time"], r["weight"], r["threadCPUDelta"]) for r in rows(worker["samples"])] == [
    ("main;parse", 2000, 10, 10**7), ("main;parse;hash", 2010, 10, 10**7)]
markers = [(strings[r["name"]], r["startTime"], r["endTime"], r["phase"], r["data"]) for r in rows(main["markers"])]
assert [m[:4] for m in markers] == [("request", 1000, 1500, 1), ('"parse"', 1100, 1300, 1)], markers
markers = [(strings[r["name"]], r["startTime"], r["endTime"], r["phase"], r["data"]) for r in rows(worker["markers"])]
assert [m[:4] for m in markers] == [("other", 1000, 1500, 1), ("woken", 2000, None, 0), ("delay", 2000, 2250, 1)] or \
    [m[:4] for m in markers] == [("other", 1000, 1500, 1), ("delay", 2000, 2250, 1), ("woken", 2000, None, 0)], markers
wait = [m[4] for m in markers if m[0] == "delay"][0]
assert wait["in"] == "lock" and names(wait["cause"]["stack"]) == "main;lock", wait
assert [m[4]["by"] for m in markers if m[0] == "woken"] == ["main"]
assert [(names(r["stack"]), r["time"], r["weight"]) for r in rows(main["nativeAllocations"])] == [
    ("main;new", 2000, 1000), ("main;new", 3000, 2000), ("main;new", 4000, -1000)]
(counter,) = p["counters"]
assert [(r["time"], r["count"]) for r in rows(counter["samples"])] == [(0, 1000), (1000, 3000), (2000, -1000)]
schemas = {m["name"] for m in p["meta"]["markerSchema"]}
assert {r["data"]["type"] for t in p["threads"] for r in rows(t["markers"])} <= schemas
END

# A reader of protobuf: fields by number, nested messages on request.
python3 - out.perfetto <<'END' || fail "Perfetto"
import collections, sys
def fields(data):
    at, out = 0, collections.defaultdict(list)
    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]; at += 1
            v |= (b & 127) << shift; shift += 7
            if b < 128: return v
    while at < len(data):
        key = varint()
        if key & 7 == 0: v = varint()
        elif key & 7 == 1: v = int.from_bytes(data[at:at + 8], "little"); at += 8
        else:
            assert key & 7 == 2, key
            n = varint(); v = data[at:at + n]; at += n
            assert len(v) == n
        out[key >> 3].append(v)
    return out
packets = [fields(p) for p in fields(open(sys.argv[1], "rb").read())[1]]
assert all(p[10] == [1] for p in packets)
(interned,) = [fields(p[12][0]) for p in packets if p[12]]
text = lambda field: {fields(x)[1][0]: fields(x)[2][0].decode() for x in interned[field]}
functions, mappings = text(5), {fields(x)[1][0] for x in interned[19]}
frames = {fields(x)[1][0]: fields(x) for x in interned[6]}
assert all(f[3][0] in mappings for f in frames.values())
stacks = {fields(x)[1][0]: ";".join(functions[frames[f][2][0]] for f in fields(x)[2]) for x in interned[7]}
samples = [(p[8][0], fields(p[66][0])) for p in packets if p[66]]
assert sorted((t, s[3][0], stacks[s[4][0]]) for t, s in samples) == [
    (10**9, 77, "main;parse"), (2 * 10**9, 78, "main;parse"), (2010 * 10**6, 78, "main;parse;hash")], samples
tracks = {}
for p in packets:
    if p[60]:
        d = fields(p[60][0])
        tracks[d[1][0]] = d
assert len(tracks) == 1 + 1 + 2 * 3 and all(d[5][0] in tracks for d in tracks.values() if d[5])
threads = {u: fields(d[4][0]) for u, d in tracks.items() if d[4]}
assert sorted((t[2][0], t[5][0]) for t in threads.values()) == [(77, b"main"), (78, b"worker")]
events, open_at, slices, flows, memory = [(p[8][0], fields(p[11][0])) for p in packets if p[11]], {}, [], {}, []
def where(u):
    d = tracks[u]
    return threads[u][2][0] if u in threads else (where(d[5][0]), d[2][0].decode())
for t, e in sorted(events, key=lambda x: x[0]):
    kind, track = e[9][0], e[11][0]
    if kind == 1: open_at.setdefault(track, []).append((t, e[23][0].decode()))
    elif kind == 2:
        begin, name = open_at[track].pop()
        slices.append((where(track), name, begin // 10**6, t // 10**6))
    elif kind == 3:
        for flow in e[47]: flows.setdefault(flow, [None, None])[0] = where(track)
        for flow in e[48]: flows.setdefault(flow, [None, None])[1] = where(track)
    else: memory.append((t // 10**9, e[30][0]))
assert not any(open_at.values())
assert sorted(slices, key=str) == sorted([(77, "request", 1000, 1500), (77, '"parse"', 1100, 1300), (78, "other", 1000, 1500),
    ((78, "waits"), "delay: lock", 2000, 2250)], key=str), slices
assert list(flows.values()) == [[(77, "wakes"), (78, "wakes")]], flows
assert memory == [(0, 1000), (1, 4000), (2, 3000)], memory
clocks = {fields(c)[1][0]: fields(c)[2][0] for p in packets if p[6] for c in fields(p[6][0])[1]}
assert clocks == {6: 0, 1: 1700000000 * 10**9}, clocks
END

# A window, and a file without an index.
"$cprof" convert -to=firefox -to=firefox -from=1500ms cpu.pb >window 2>/dev/null || fail "a window: $?"
python3 -c 'import json; print(sum(t["samples"]["length"] for t in json.load(open("window"))["threads"]))' | grep -qx 2 || fail "a window has other samples"
grep -v . </dev/null | "$make" none.pb
"$cprof" convert -to=perfetto -o no none.pb 2>said && fail "no index"
grep -q 'none.pb has no time index' said || fail "no index: $(cat said)"
finish
