# SPDX-License-Identifier: BSD-3-Clause
# cprof convert -to=otlp: the message of each mode's profile holds the same types, stacks, values and labels, as a reader
# in Python finds them. The tool does not read such files, and says so.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3

env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/cpu.pb" WALLPROFILE="$work/wall.pb" WALLPROFILE_FREQUENCY=200 \
	HEAPPROFILE="$work/heap.pb" CPROF_HEAP_INTERVAL=4K LOCKPROFILE="$work/lock.pb" CPROF_LOCK_THRESHOLD=0 \
	./tests/e2e/lock-host >/dev/null || fail "lock-host ends with $?"

count=0
for profile in "$work"/*.pb; do
	name=$(basename "$profile" .pb)
	"$cprof" convert -to=otlp "$profile" -o "$work/$name.otlp" || fail "$name can't be converted"
	python3 "$srcdir/tests/lib/otlp_stacks.py" "$work/$name.otlp" >"$work/$name.read" || fail "$name can't be read"
	: >"$work/all" # a type may have no value, as memory that nobody has touched
	for type in $("$cprof" info "$profile" | sed -n 's,^  \([a-z_]*\)/[a-z]* total .*,\1,p'); do
		"$cprof" folded -threads -sample_index="$type" "$profile" | sort >"$work/$name.before"
		awk -v type="$type" '/^[^ ]/ { on = $1 == type; next } on && /^  [^=]*$/ { print substr($0, 3) }' "$work/$name.read" |
			sort >"$work/$name.after"
		cat "$work/$name.before" >>"$work/all"
		cmp -s "$work/$name.before" "$work/$name.after" ||
			fail "$name $type: $(diff "$work/$name.before" "$work/$name.after" | head -n 5)"
	done
	grep -q ';.*;' "$work/all" || fail "$name has no stacks"
	count=$((count + 1))
done
[ $count -ge 5 ] || fail "only $count profiles"
grep -q '^  thread.name=lock-host ' "$work/wall.read" && grep -Eq '^  thread.id=[0-9]+ ' "$work/wall.read" ||
	fail "threads are not in the message under OpenTelemetry's names"
grep -q '^  state=waiting ' "$work/wall.read" || fail "the labels are not in the message"

# What a receiver looks at besides: the default type first, places, traces as links, one row for equal samples, valid UTF-8.
export PYTHONPATH=$srcdir/tests/lib
python3 - "$work/made.pb" <<'END'
import sys
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
app = p.mapping("/bin/app", "abcdef")
leaf = p.location([("leaf", "a.c", 5, 7)], app, 0x100)
main = p.location([("inlined", "a.c", 11, 7), ("main", "a.c", 12, 9)], app, 0x200)
ids = {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"}
p.sample([leaf, main, p.location([], 0, 0x77)], [3, 300], {"thread": "one", "tid": 42, "bytes": (-4096, "bytes")})
p.sample([main], [0, 200])
p.sample([leaf], [1, 0], ids)
for _ in range(2):
    p.sample([leaf], [1, 20], {"trace_id": ids["trace_id"], b"k\xff": b"v\xc3\xa9\xc3"})
p.write(sys.argv[1])
END
"$cprof" convert -to=otlp "$work/made.pb" -o "$work/made.otlp" || fail "the made profile can't be converted"
python3 - "$work/made.otlp" <<'END' || fail "details of the message"
import sys
from otlp_stacks import Message, message, numbers, one
m = Message(open(sys.argv[1], "rb").read())
(cpu, unit, rows), (samples, _, counts) = m.profiles()
assert (cpu, unit, samples) == ("cpu", "nanoseconds", "samples"), (cpu, unit, samples)
assert [numbers(s[4]) for s in rows] == [[300], [200], [40]], "equal samples are one, those of value 0 are left out"
assert [numbers(s[4]) for s in counts] == [[3], [1], [2]]
assert dict(m.attributes(rows[0][2])) == {"thread.name": "one", "thread.id": 42, "bytes": -4096}, list(m.attributes(rows[0][2]))
assert dict(m.attributes(rows[2][2]))["k?"] == "v\u00e9?" and not one(rows[2], 3), "one id is no link"
link = m.entry(4, one(counts[1], 3))
assert link[1][0].hex() == "0af7651916cd43dd8448eb211c80319c" and link[2][0].hex() == "b7ad6b7169203331", link
leaf, main, bare = [m.entry(2, l) for l in numbers(m.entry(7, one(rows[0], 1))[1])]
app = m.entry(1, one(main, 1))
assert m.texts[one(app, 4)] == "/bin/app" and one(main, 2) == one(app, 1) + 0x200, (app, main)
known = dict(m.attributes(app[5]))
assert "abcdef" in known.values() and len(known) == 4, known
assert [m.texts[one(m.entry(3, one(f, 1)), 1)] for f in map(message, main[3])] == ["inlined", "main"]
line = message(main[3][1])
function = m.entry(3, one(line, 1))
assert one(line, 2) == 12 and one(function, 4) == 9 and m.texts[one(function, 3)] == "a.c", (line, function)
assert one(bare, 2) == 0x77 and not one(bare, 1) and not bare[3], bare
END
"$cprof" top "$work/cpu.otlp" >/dev/null 2>"$work/otlp.err" && fail "the tool reads such a file"
grep -q "OpenTelemetry's (OTLP), which is only written" "$work/otlp.err" || fail "it says $(cat "$work/otlp.err")"
finish
