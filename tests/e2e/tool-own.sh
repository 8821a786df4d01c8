# SPDX-License-Identifier: BSD-3-Clause
# "Your code": the table with which cprof top and cprof run begin; names that fit the terminal.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3
srcdir=$(cd "$srcdir" && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/tests/lib
cd "$work" || exit 1

python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
app, lib = p.mapping("/opt/app/bin/app"), p.mapping("/opt/app/lib/libplugin.so")
libc, stdcxx, other = p.mapping("/usr/lib/libc.so.6"), p.mapping("/usr/lib/libstdc++.so.6"), p.mapping("/usr/lib/libz.so.1")
start, main = p.frame("_start", mapping=app), p.frame("main", mapping=app)
parse = p.frame("parse", mapping=app)
sort = p.location([("std::__introsort<int>", "/usr/include/c++/12/bits/stl_algo.h", 9, 0), ("order", "/src/a.cc", 3, 0)], app)
malloc, new = p.frame("_int_malloc", mapping=libc), p.frame("operator new", mapping=stdcxx)
crc, plugin, stub = p.frame("crc32", mapping=other), p.frame("plugin", mapping=lib), p.frame("malloc@plt", mapping=app)
allocator = p.frame("je_arena_malloc", mapping=app)
long = p.frame("std::map<std::string, std::vector<int, std::allocator<int> >, std::less<std::string> >::operator<", mapping=stdcxx)
for stack, n in (([malloc, new, parse, main, start], 47), ([stub, parse, main, start], 3), ([parse, main, start], 10), ([sort, main, start], 20), ([crc, plugin, main, start], 7),
                 ([allocator, parse, main, start], 5), ([crc, start], 3), ([long, parse, main, start], 5)):
    p.sample(stack, [n, n * 10**6])
p.write("app.pb")
END
"$cprof" top app.pb >top.out || fail "top failed"
printf '%s\n' 'Your code (app): 97 ms, 97.00% of 100 ms cpu in 1 s (10.00%)' '       own   own%      total total%' \
	'     70 ms 70.00%      70 ms 70.00%  parse' '     20 ms 20.00%      20 ms 20.00%  order' \
	'      7 ms  7.00%       7 ms  7.00%  plugin' '' 'All functions' |
	cmp -s - <(head -n 7 top.out) || fail "top begins with: $(head -n 8 top.out)"
tail -n +8 top.out | cmp -s - <("$cprof" top -own= app.pb | tail -n +2) || fail "behind it is not the plain table"
json() { # expression options...
	"$cprof" top -json "${@:2}" app.pb | python3 -c "import json, sys; own = json.load(sys.stdin)['own']; assert $1, own" ||
		fail "top ${*:2}: not $1"
}
ms='[(r["name"], r["own"] // 10**6, r["total"] // 10**6) for r in own["rows"]]'
json "$ms == [('parse', 70, 70), ('order', 20, 20), ('plugin', 7, 7), ('main', 0, 97)] and own['inside'] == 97000000 and own['outside'] == 3000000"
json "$ms == [('crc32', 10, 10)] and own['outside'] == 90000000" '-own=libz'
json "$ms == [('main', 97, 97)]" '-own=^main$'
json "own['rows'] == []" -own=
"$cprof" top '-own=(' app.pb >/dev/null 2>err
[ $? = 2 ] && grep -q 'own=(' err || fail "an expression that is none: $(cat err)"
"$cprof" top -nodecount=1 app.pb | sed -n 3,4p | grep -q '2 more' || fail "rows that are left out aren't counted"

# Profiles of several processes together: the code of each one's program, as where a shell runs the program.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
sh, libc = p.mapping("/usr/bin/dash"), p.mapping("/usr/lib/libc.so.6")
programs = [p.mapping(f"/home/me/{name}") for name in ("app", "tool", "check", "more")]
module, deleted = p.mapping("/usr/lib/python3/_json.cpython-311.so"), p.mapping("/SYSV00000000 (deleted)")
main = p.frame("main", mapping=sh)
p.sample([p.frame("parse", mapping=sh), main], [1, 10**6])
for i, program in enumerate(programs):
    p.sample([p.frame("memcpy", mapping=libc), p.frame(f"work{i}", mapping=program)], [20 - i, (20 - i) * 10**6])
p.sample([p.frame("loads", mapping=module)], [4, 4 * 10**6])
p.sample([p.frame("code", mapping=deleted)], [4, 4 * 10**6])
p.write("family.pb")
END
"$cprof" top family.pb | head -n 7 >out
printf '%s\n' 'Your code (app, tool, check, ...): 75 ms, 90.36% of 83 ms cpu in 1 s (8.30%)' '       own   own%      total total%' \
	'     20 ms 24.10%      20 ms 24.10%  work0' '     19 ms 22.89%      19 ms 22.89%  work1' '     18 ms 21.69%      18 ms 21.69%  work2' \
	'     17 ms 20.48%      17 ms 20.48%  work3' '      1 ms  1.20%       1 ms  1.20%  parse' | cmp -s - out || fail "the code of a family: $(cat out)"

# Code without symbols is named after the program as it was started; in a program that was started by two names, after its file.
python3 - <<'END'
from pprof_build import Profile
for out, names in (("link.pb", ("redis-server",)), ("links.pb", ("redis-server", "redis-sentinel"))):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    p.comments += [f"# program: redis-check-rdb, started as {name}" for name in names]
    p.sample([p.frame("redis-check-rdb+0x1234", mapping=p.mapping("/usr/bin/redis-check-rdb"))], [1, 10**6])
    p.write(out)
END
python3 - <<'END'
from pprof_build import Profile
p = Profile([("contentions", "count"), ("delay", "nanoseconds")], default="delay")
p.comments += ["# program: redis-check-rdb, started as redis-server"]
p.sample([p.frame("work", mapping=p.mapping("/usr/bin/redis-check-rdb"))], [1, 10**6], {"lock": "redis-check-rdb+0x40"})
p.write("link.lock.pb")
END
"$cprof" locks link.lock.pb 2>/dev/null | grep -q '^redis-server+0x40: 1 ms' || fail "its lock: $("$cprof" locks link.lock.pb)"
for profile in link.pb:redis-server links.pb:redis-check-rdb; do
	"$cprof" top -focus="${profile#*:}+0x1234" "${profile%:*}" 2>/dev/null | grep -q " ${profile#*:}+0x1234\$" || fail "code of ${profile#*:}: $("$cprof" top "${profile%:*}" 2>&1)"
done

# A program whose time is in a library of the system: the first line names it, and -modules has all. libc works for its caller. A library
# outside the system's folders is one's own; so is the program.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
app, libc = p.mapping("/usr/bin/ffmpeg"), p.mapping("/usr/lib/libc.so.6")
x264, codec, plugin = p.mapping("/usr/lib/libx264.so.164"), p.mapping("/usr/lib/libavcodec.so.59"), p.mapping("/home/me/plugin.so")
anon = p.mapping("//anon")
start, main = p.frame("start_thread", mapping=libc), p.frame("main", mapping=app)
encode, memcpy = p.frame("encode", mapping=x264), p.frame("memcpy", mapping=libc)
for stack, n in (([encode, start], 60), ([memcpy, encode, start], 20), ([memcpy, main], 9), ([p.frame("decode", mapping=codec), start], 4),
                 ([p.frame("work", mapping=plugin), start], 5), ([p.location([], anon), start], 1), ([p.frame("[not sampled]")], 1)):
    p.sample(stack, [n, n * 10**6])
p.write("modules.pb")
END
"$cprof" top modules.pb >out || fail "top modules.pb"
[[ "$(head -n 1 out)" = 'Your code (ffmpeg): 15 ms, 15.00% of 100 ms cpu'*'; by module: 80% libx264.so.164, 9% ffmpeg, 5% plugin.so'* ]] ||
	fail "a program of libraries begins with: $(head -n 1 out)"
grep -q '^ *5 ms  5.00% *5 ms  5.00%  work$' out || fail "a plug-in isn't one's own: $(cat out)"
"$cprof" top -json -modules modules.pb | python3 -c "import json, sys
rows = {r['name']: (r['flat'] // 10**6, r['cum'] // 10**6) for r in json.load(sys.stdin)['rows']}
assert rows == {'libx264.so.164': (60, 80), 'libc.so.6': (29, 99), 'ffmpeg': (0, 9), 'libavcodec.so.59': (4, 4), 'plugin.so': (5, 5), '[JIT]': (1, 1),
                '[not sampled]': (1, 1)}, rows" || fail "-modules"

# With -cum, what all time passes through is no answer: it has no row of its own, but is named. A program that is one function has its row.
python3 - <<'END'
from pprof_build import Profile
for out, stacks in (("deep.pb", (("parse toplev main", 30), ("lex parse toplev main", 5), ("expand toplev main", 65))), ("flat.pb", (("main", 10),))):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    app = p.mapping("/opt/app/app")
    for stack, n in stacks:
        p.sample([p.frame(f, mapping=app) for f in stack.split()], [n, n * 10**6])
    p.write(out)
END
"$cprof" top -cum deep.pb 2>/dev/null | sed -n '3,6p' >out
printf '%s\n' '     65 ms 65.00%      65 ms 65.00%  expand' '     30 ms 30.00%      35 ms 35.00%  parse' '      5 ms  5.00%       5 ms  5.00%  lex' \
	'                                     all of it passes through toplev, main' | cmp -s - out || fail "-cum: $("$cprof" top -cum deep.pb)"
"$cprof" top -cum flat.pb 2>/dev/null | grep -q '^ *10 ms   100% *10 ms   100%  main$' || fail "-cum of one function: $("$cprof" top -cum flat.pb)"
"$cprof" top -cum -trim=false deep.pb 2>/dev/null | sed -n '3,4p' | grep -q '  main$' || fail "-cum -trim=false leaves main out"

# Python's allocator is none of its user's functions, though it is in the program.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], default="inuse_space")
app = p.mapping("/opt/python/bin/python3")
for names, n in (("_PyObject_Malloc bytearray_init main", 4), ("PyMem_Realloc _PyObject_Realloc list_resize main", 2)):
    p.sample([p.frame(f, mapping=app) for f in names.split()], [n, n * 1000])
p.write("python.heap.pb")
END
"$cprof" top python.heap.pb 2>/dev/null | sed -n '3,4s/.*%  //p' | paste -sd' ' | grep -qx 'bytearray_init list_resize' || fail "python's allocator: $("$cprof" top python.heap.pb)"
"$cprof" leaks python.heap.pb 2>/dev/null | grep -q '  bytearray_init < main$' || fail "python's allocator: $("$cprof" leaks python.heap.pb)"

# "core" and "alloc" are Rust's crates, and also what people call namespaces in C++.
python3 - <<'END'
from pprof_build import Profile, block, number
p = Profile([("cpu", "nanoseconds")])
app = p.mapping("/opt/app/bin/app")
main = p.frame("main", "/src/main.cc", 3, 0, app)
def called(name, mangled, file=""):
    p.locations += 1
    line = block(4, number(1, p.function(name, file, 0, mangled)) + number(2, 1))
    p.out += block(4, number(1, p.locations) + number(2, app) + number(3, (app << 32) + 16 * p.locations) + line)
    p.sample([p.locations, main], [1])
called("core::Cache::refresh", "_ZN4core5Cache7refreshEv", "/src/cache.h")
called("core::Bare::refresh", "_ZN4core4Bare7refreshEv")
called("core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE")
called("alloc::vec::push", "_RNvNtCs1234_5alloc3vec4push", "/rustc/abc/library/alloc/src/vec.rs")
called("core::str::find", "core::str::find", "/usr/src/rustc-1.63.0/library/core/src/str.rs")
# Rust's own maps are a crate, which is built with the standard library.
called("hashbrown::map::make_hash", "_ZN9hashbrown3map9make_hash17h0123456789abcdefE")
called("adler::add", "_RNvNtCs1234_5adler3add", "/rust/deps/adler-1.0/src/lib.rs")
called("__rustc::__rust_alloc", "_RNvCs1234_7___rustc12___rust_alloc")
called("_rjem_je_malloc_default", "_rjem_je_malloc_default")
called("iralloct", "", "/src/app/target/release/build/tikv-jemalloc-sys-0123/out/build/include/jemalloc/internal/jemalloc_internal_inlines_c.h")
p.write("core.pb")
END
"$cprof" top -json core.pb | python3 -c 'import json, sys
own = {r["name"]: r["own"] for r in json.load(sys.stdin)["own"]["rows"]}
assert own == {"core::Cache::refresh": 1, "core::Bare::refresh": 1, "main": 8}, own' || fail "namespaces called core"

# A program that spends its time in a library: its own function is in the first three lines.
cat >leak.cc <<'END'
#include <map>
#include <string>
static auto &kept = *new std::map<int, std::string>; // never destroyed
__attribute__((noinline)) void remember(int i) { kept[i] = std::string(1000, 'x'); }
int main() { for (int i = 0; i < 20000; i++) remember(i); }
END
if g++ -O2 -g -o leak leak.cc 2>/dev/null; then
	"$cprof" run --heap -o leak.pb -- ./leak 2>leak.err || fail "leak: $(cat leak.err)"
	grep -A3 '^Your code' leak.err | grep -q ' remember' || fail "run --heap begins with: $(head -n 6 leak.err)"
	"$cprof" run --heap '-own=^main$' -o leak.pb -- ./leak 2>leak.err
	grep -A2 '^Your code' leak.err | grep -q ' main$' || fail "run -own: $(head -n 6 leak.err)"
fi

# Hints: only where they matter, with the command that helps.
python3 - <<'END'
from pprof_build import Profile
for name, jit, bare in (("hints.pb", 70, 25), ("few.pb", 5, 5)):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    node, anon, lib = p.mapping("/usr/bin/node"), p.mapping("//anon"), p.mapping("/usr/lib/libfoo.so.1")
    main = p.frame("main", mapping=node)
    for i in range(jit):
        p.sample([p.location([], anon), main], [2, 10**6])
    p.sample([p.frame("libfoo.so.1+0x1234", mapping=lib), main], [2 * bare, bare * 10**6])
    p.sample([main], [2 * (100 - jit - bare), (100 - jit - bare) * 10**6])
    if name == "hints.pb":
        p.comments.append("# samples: 100 taken for 100 expiries; lost expiries: 7 ring full, 0 no memory, 0 blocked")
    p.write(name)
END
"$cprof" top hints.pb >out 2>err
printf '%s\n' 'cprof: hint: 7 samples were lost, 100 taken: a lower rate loses none; "cprof info hints.pb" says why' \
	'cprof: hint: 70.00% is JIT code without names: run node with --perf-basic-prof --no-short-builtin-calls' \
	'cprof: hint: 25.00% is in libfoo.so.1, which is stripped: ' |
	cmp -s - <(sed 's/\(stripped: \).*"cprof list -disasm libfoo.so.1+0x1234 hints.pb" has instructions$/\1/' err) || fail "hints: $(cat err)"
[ "$(. /etc/os-release && echo "$ID")" != debian ] ||
	grep -q 'stripped: "DEBUGINFOD_URLS=https://debuginfod.debian.net cprof symbolize --in-place hints.pb" (' err || fail "Debian's files: $(cat err)"
grep -q '^ *70 ms 70.00% *70 ms 70.00%  ' out || fail "what node compiled isn't one's own code: $(head -n 4 out)"
python3 - <<'END'
from pprof_build import Profile
for name, rest in (("polled.pb", "1.100"), ("sampled.pb", "0.090")):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    p.sample([p.frame("main", mapping=p.mapping("/usr/bin/app"))], [1000, 10**9])
    p.comments.append("# cpu time: 2.100 s used by the program, 1.000 s in samples, %s s unsampled" % rest)
    p.write(name)
END
"$cprof" top polled.pb 2>err >out
grep -q '^cprof: hint: 52% of the process.s CPU time (1.1 of 2.1 s) is in no row: ' err || fail "unsampled: $(cat err)"
"$cprof" top sampled.pb 2>err >out
grep -q 'in no row' err && fail "hardly unsampled: $(cat err)"
"$cprof" top few.pb 2>err >out
[ -s err ] && fail "hints that don't matter: $(cat err)"
"$cprof" top -lines few.pb >out 2>err
no_lines='has no line numbers of your code: .*cprof symbolize --in-place'
[ "$(grep -c '' err)" = 1 ] && grep -q "^cprof: hint: few.pb $no_lines few.pb\"" err || fail "a table of lines without lines: $(cat err)"
cp few.pb 'a few.pb'
"$cprof" top -lines 'a few.pb' >out 2>err
[ "$(grep -c '' err)" = 1 ] && grep -q "^cprof: hint: a few.pb $no_lines 'a few.pb'\"" err || fail "a name with a space: $(cat err)"
cp hints.pb 'b hints.pb'
"$cprof" top 'b hints.pb' >out 2>err
grep -qF "\"cprof info 'b hints.pb'\" says why" err || fail "a name with a space: $(cat err)"
# Of several files, and of what is no file, the command would be wrong.
"$cprof" top -lines few.pb 'a few.pb' >out 2>err
[ -s err ] && fail "lines of two files: $(cat err)"
"$cprof" top -lines - <few.pb >out 2>err
[ -s err ] && fail "lines of stdin: $(cat err)"
"$cprof" top -lines hints.pb >out 2>err
[ "$(grep -c '' err)" = 3 ] && grep -q "hint: hints.pb $no_lines hints.pb\"" err || fail "not three hints: $(cat err)"
# A stripped program, also where libc has lines; own code with lines.
python3 - <<'END'
from pprof_build import Profile
for name, line in (("stripped.pb", 0), ("lines.pb", 7)):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    app, libc = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6")
    main = p.frame("main" if line else "app+0x1234", file="/src/app.c" if line else "", line=line, mapping=app)
    p.sample([p.frame("read", file="read.c", line=26, mapping=libc), main], [1000, 10**9])
    p.write(name)
END
"$cprof" top -lines stripped.pb >out 2>err
grep -q 'hint: stripped.pb has no line numbers of your code: build with -g, then "cprof symbolize --in-place stripped.pb"' err || fail "lines of a stripped program: $(cat err)"
"$cprof" top -lines lines.pb >out 2>err
grep -q 'line numbers' err && fail "lines of code that has lines: $(cat err)"
"$cprof" top -json -lines hints.pb 2>err >out
[ -s err ] && fail "hints beside JSON: $(cat err)"

# Waits for locks: where the run recorded locks, too, its lock profile answers.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("wall", "nanoseconds")], default="wall")
p.sample([p.frame("pthread_mutex_lock", mapping=p.mapping("/usr/lib/libc.so.6")), p.frame("serve", mapping=p.mapping("/opt/app"))], [1, 10**9], {"state": "waiting"})
p.write("run.wall.pb")
END
"$cprof" top run.wall.pb 2>err >out
grep -q 'waits for locks: cprof waits run.wall.pb; "cprof run --lock" says who holds them$' err || fail "the hint of locks: $(cat err)"
lock_file() { # seconds since 1970
	python3 -c 'from pprof_build import Profile
p = Profile([("contentions", "count"), ("delay", "nanoseconds")], time=int(__import__("sys").argv[1]) * 10**9)
p.sample([p.frame("serve")], [1, 10**9])
p.write("run.lock.pb")' "$1"
}
for other in empty earlier; do
	: >run.lock.pb
	[ $other = empty ] || lock_file 1600000000
	"$cprof" top run.wall.pb 2>err >out
	grep -q '"cprof run --lock" says who' err && ! grep -q 'run\.lock\.pb' err || fail "a lock profile, $other: $(cat err)"
done
lock_file 1700000000
"$cprof" top run.wall.pb 2>err >out
grep -q 'waits for locks: cprof locks run.lock.pb says who holds them$' err || fail "the hint of a run that recorded locks: $(cat err)"

# Few samples: which shares are chance; with enough, nothing.
python3 - <<'END'
from pprof_build import Profile
for n in (1, 131, 199, 200):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
    p.sample([p.frame("main", mapping=p.mapping("/opt/app"))], [n, n * 10**7])
    p.write(f"n{n}.pb")
END
few() { # samples text
	"$cprof" top "n$1.pb" 2>err >out
	printf '%s' "$2" | cmp -s - err || fail "$1 samples: $(cat err)"
}
few 131 'cprof: hint: only 131 samples: shares under 10% are ±50% and more
'
few 199 'cprof: hint: only 199 samples: shares under 7% are ±50% and more
'
few 1 'cprof: hint: only 1 sample: shares under 94% are ±50% and more
'
few 200 ''
# Rows that are scaled to exact totals: the comment tells how sure each type is, the first line whether its table is.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("calls", "count"), ("delay", "nanoseconds")])
p.comments = ["calibrated: calls 10, delay 0 (variance of a value / value)", "calibrated: calls 2, delay 0 (variance of a value / value)"]
app = p.mapping("/opt/app")
for name, n in (("much", 200), ("little", 150)):
    p.sample([p.frame(name, mapping=app)], [n, n])
p.write("sure.pb")
p.comments[0] = "calibrated: calls 100, delay 0 (variance of a value / value)"
p.write("unsure.pb")
END
said() { # file type line first
	"$cprof" top -sample_index="$2" "$1.pb" >out 2>err
	grep '^Sampled' out | cmp -s - <(printf '%s' "$3") || fail "$1 $2: $(grep '^Sampled' out)"
	[ "$(head -n 1 out)" = "Your code (app): 350$4" ] || fail "$1 $2 begins with $(head -n 1 out)"
}
said sure calls 'Sampled: total exact; values under 153 ±50% and more
' ', 100% of 350 calls in 1 s'
said unsure calls 'Sampled: total exact; values under 1536 ±50% and more; the first row may be chance
' ', 100% of 350 calls in 1 s; the first row may be chance'
said sure delay '' ' ns, 100% of 350 ns delay in 1 s (<0.01%)'

"$cprof" top -base=n1.pb n131.pb 2>err >out
grep -q 'only 13' err && fail "a difference has samples: $(cat err)"

"$cprof" top -focus=main n131.pb 2>err >out
[ -s err ] && fail "a filter: shares are of more samples: $(cat err)"

# What a profile says of itself in notes stands below the table, once.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
p.comments += ["cpu: 99 Hz", "note: 100 % of the CPU time is of short bursts"]
p.sample([p.frame("main", mapping=p.mapping("/opt/app"))], [200, 2 * 10**9])
p.write("note.pb")
END
"$cprof" top note.pb note.pb 2>err >out
echo 'cprof: note: 100 % of the CPU time is of short bursts' | cmp -s - err || fail "a note: $(cat err)"
# Who has the CPU time is nothing to note of threads that wait; a filter may leave those that run.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("wall", "nanoseconds")])
app = p.mapping("/opt/app/app")
p.comments += ["# note: 80 % of the CPU time is of threads that run for less than the kernel's tick"]
p.sample([p.frame("waits", mapping=app)], [95, 95 * 10**6], {"state": "waiting", "wait": "lock"})
p.sample([p.frame("runs", mapping=app)], [5, 5 * 10**6], {"state": "running"})
p.write("tick.pb")
END
"$cprof" top tick.pb 2>&1 | grep 'note:' && fail "a note of the tick, of a file of waits"
"$cprof" top -tagfocus=state=running tick.pb 2>&1 | grep -q '^cprof: note: 80 % of the CPU time' || fail "no note of the tick where threads run"
# The number of rows is of those that are there.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
app, libc = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6")
for i in range(3):
    p.sample([p.frame(f, mapping=libc) for f in (f"leaf{i}", "calls", "goes_on", "begins")], [300, 300 * 10**6])
p.write("callers.pb")
END
"$cprof" top -nodecount=5 callers.pb >out 2>/dev/null
[ "$(grep -c 'leaf' out)" = 3 ] && grep -q '^3 of 6 rows, 100% of the total$' out || fail "rows: $(cat out)"
"$cprof" top -json note.pb 2>err >out
[ -s err ] && fail "a note beside JSON: $(cat err)"

# Files of the processes that the profiled one started.
cp n200.pb tree.pb
cp n131.pb tree.pb.77
"$cprof" top tree.pb 2>err >out
grep -qx 'cprof: hint: a process that the profiled one started wrote tree.pb.77' err || fail "a child's file: $(cat err)"
"$cprof" top tree.pb tree.pb.77 2>err >out
[ -s err ] && fail "a child's file that is shown: $(cat err)"
"$cprof" top -json tree.pb 2>err >out
[ -s err ] && fail "a child's file beside JSON: $(cat err)"

# Code without names that was made at run time is one row.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count")])
anon, app = p.mapping("//anon"), p.mapping("/usr/bin/app")
for i in range(9):
    p.sample([p.frame(f"//anon+0x7f00{i}a", mapping=anon)], [1])
p.sample([p.frame("operator+0x", mapping=app)], [1])
p.write("jit.pb")
END
"$cprof" top jit.pb 2>/dev/null | grep -q '^ *9 90.00% *9 90.00%  \[JIT\]$' || fail "JIT code: $("$cprof" top jit.pb)"
[ "$("$cprof" top -own= -addresses jit.pb 2>/dev/null | grep -c '//anon+0x')" = 9 ] || fail "addresses of JIT code are one"

# The same code, when its memory was gone before the profile was written: in no mapping, with names only from the
# runtime's map. Marks are no code.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count")])
node = p.mapping("/usr/bin/node")
trampoline = p.frame("Builtins_JSEntryTrampoline", mapping=node)
work = p.location([("JS:*work app.js:2:14", "", 0, 0)])
p.sample([work, trampoline], [20])
for i in range(3):
    p.sample([p.location([("[unknown]", "", 0, 0)]), work, trampoline], [10])
p.sample([p.frame("[not sampled]")], [50])
p.write("gone.pb")
END
"$cprof" top gone.pb >out 2>err
printf '%s\n' 'Your code (node): 50, 50.00% of 100 samples in 1 s' '       own   own%      total total%' \
	'        30 30.00%         30 30.00%  [unknown]' '        20 20.00%         50 50.00%  JS:*work app.js:2:14' |
	cmp -s - <(head -n 4 out) || fail "code whose memory is gone: $(head -n 5 out)"
grep -q 'hint: 30.00% is JIT code without names: run node with' err || fail "no hint of JIT code whose memory is gone: $(cat err)"

# A program without symbols whose time is in a library: a row for its main would say nothing. What it maps by itself has a hint.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
exe, lib = p.mapping("/usr/bin/tool"), p.mapping("/usr/lib/libwork.so.1")
main = p.frame("tool+0x20080", mapping=exe)
for name, n in ("exec", 60), ("insert", 40):
    p.sample([p.frame(name, mapping=lib), main], [n, n * 10**7])
p.write("stripped.pb")
for program in "python3", "app":
    p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], default="inuse_space")
    p.sample([p.frame("grow", mapping=p.mapping("/usr/bin/" + program))], [1, 1 << 20])
    p.comments = ["# resident memory: 100000 kB; heap in use: 1000 kB, heap not in use: 9000 kB, other anonymous memory: 90000 kB"]
    p.write(program + ".heap.pb")
END
"$cprof" top stripped.pb >out 2>err
[ "$(head -n 1 out)" = 'Your code (tool): 1 s, 100% of 1 s cpu in 1 s (100%); by module: 100% libwork.so.1; its own functions have no names' ] &&
	! grep -q 'tool+0x' out && grep -q ' exec$' out || fail "a program without symbols: $(cat out)"
for verb in top leaks; do
	"$cprof" $verb python3.heap.pb 2>&1 >out | grep -q 'hint: 90.00% is memory that the program maps by itself: .*PYTHONMALLOC=malloc' || fail "$verb: no hint for Python"
	"$cprof" $verb app.heap.pb 2>&1 >out | grep -q 'hint: 90.00% is memory that the program maps by itself: CPROF_HEAP_VIEWS=mmap' || fail "$verb: no hint of what is mapped"
done

# Names on a terminal.
cat >terminal.py <<'END'
import os, pty, sys
pid, fd = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
try:
    while data := os.read(fd, 65536):
        sys.stdout.buffer.write(data)
except OSError:
    pass
END
export CPROF_PAGER= NO_COLOR=1 TERM=xterm
COLUMNS=80 python3 terminal.py "$cprof" top app.pb | tr -d '\r' >tty.out
grep -q ' std::map<…>::operator<$' tty.out || fail "a name isn't shortened: $(cat tty.out)"
awk 'length($0) > 80 { exit 1 }' tty.out || fail "wider than the terminal: $(cat tty.out)"
COLUMNS=80 python3 terminal.py "$cprof" top -full-names app.pb | grep -q 'std::less<std::string> >::operator<' || fail "-full-names"
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count")])
app = p.mapping("/opt/app/app")
s = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
for name in (f"pack::sorted<{s} >(std::vector<{s}>)::{{lambda({s} const&, {s} const&)#1}}::operator()",
             f"Upper::handle[abi:cxx11](core::Request const&)::{{lambda({s})#2}}::operator()",
             f"(anonymous namespace)::Call::operator()<{s} >({s} const&) const", "main.(*VeryVeryVeryLongServer).handle[go.shape.string].func1"):
    p.sample([p.frame(name, mapping=app)], [1])
p.write("lambdas.pb")
END
COLUMNS=80 python3 terminal.py "$cprof" top lambdas.pb | tr -d '\r' >tty.out
for name in 'pack::sorted<…>(…)::{lambda(…)#1}' 'Upper::handle(…)::{lambda(…)#2}' '…s namespace)::Call::operator()<…>(…) const' \
	'…yLongServer).handle\[go.shape.string\].func1'; do
	grep -q " $name\$" tty.out || fail "$name is not in $(head -n 7 tty.out)"
done
COLUMNS=110 python3 terminal.py "$cprof" top app.pb | grep -q 'std::map<std::string, std::vector<…>, std::less<…> >::operator<' ||
	fail "more is cut than has to: $(COLUMNS=110 python3 terminal.py "$cprof" top app.pb | grep map)"
"$cprof" merge -o twice.pb app.pb app.pb
# In a file, template arguments are cut as on a terminal of 100 columns, and nothing else is.
"$cprof" top -full-names app.pb | grep -q 'std::less<std::string> >::operator<' || fail "-full-names in a file"
for shown in "top app.pb" "tree app.pb" "peek map app.pb" "diff -all -markdown -own= app.pb twice.pb"; do
	"$cprof" $shown >out 2>err
	grep -q 'std::map<.*…>::operator<' out && ! grep -q 'std::less<std::string> >::operator<' out || fail "$shown: names are whole in a file: $(cat out)"
	"$cprof" $shown -full-names 2>err | grep -q 'std::less<std::string> >::operator<' || fail "$shown -full-names"
done
! "$cprof" top lambdas.pb | grep -q ' …' || fail "a name loses its beginning in a file: $("$cprof" top lambdas.pb)"

# Rust: the closures of one function are told apart, those in closures, too.
command -v rustc >/dev/null || finish
cat >closures.rs <<'END'
use std::hint::black_box;
#[inline(never)]
fn call<F: Fn(u64) -> u64>(f: F, n: u64) -> u64 { (0..n).map(|i| f(i)).fold(0, u64::wrapping_add) }
fn spin(i: u64, n: u64) -> u64 { let mut x = i; for _ in 0..n { x = black_box(x.wrapping_mul(31) ^ 7); } x }
fn main() {
    let mut sum = 0;
    for _ in 0..80 {
        sum ^= call(|i| spin(i, 50000), 20);
        sum ^= call(|i| spin(i, 60000), 20);
        sum ^= call(|i| call(|k| spin(i ^ k, 3000), 20), 20);
    }
    black_box(sum);
}
END
if rustc -O -g closures.rs -o closures 2>rust.err; then
	"$cprof" run -o closures.pb -- ./closures >out 2>&1 || fail "the Rust program: $(cat out)"
	"$cprof" folded closures.pb >out
	for closure in '0};' '1};' '2};.*;closures::main::{closure#2}::{closure#0};'; do
		grep -q "closures::main::{closure#$closure" out || fail "no closure $closure in $(cut -c 1-600 out)"
	done
	! grep -q '{{closure}}' <<<"$("$cprof" peek closures::main closures.pb)" || fail "closures without a number: $(cat out)"
else
	echo "no closures: $(tail -n 1 rust.err)"
fi
finish
