# SPDX-License-Identifier: BSD-3-Clause
"""The page of `cprof flame` of several profiles, compared, side by side and in time, in a real browser. Prints TAP.

flame-tabs.py CPROF WORK-DIRECTORY MAKE-TIMES
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chromium import Browser  # noqa: E402
from flame_mix import MS, make_mix  # noqa: E402
from flame_page import CPROF, MAKE_TIMES, TABLE, WORK, Flame, check, flame  # noqa: E402
from pprof_build import Profile  # noqa: E402


def kinds(browser):
    """A hue for each kind of code."""
    p = Profile([("samples", "count")])
    names = (("/opt/app/app", "main", 40), ("/opt/app/libapp.so.3", "part", 3), ("/usr/lib/libc.so.6", "memcpy", 20), ("/opt/app/app", "std::sort<int>", 10),
             ("/usr/lib/libcurl.so.4", "curl_easy", 12), ("[kernel.kallsyms]", "ksys_write", 6), ("//anon", "LazyCompile:go", 5), ("", "[truncated]", 4))
    modules = {path: p.mapping(path) if path else 0 for path in dict.fromkeys(path for path, _, _ in names)}
    for path, name, n in names:
        p.sample([p.frame(name, mapping=modules[path])], [n])
    p.write(os.path.join(WORK, "kinds.pb"))
    flame("kinds.pb", "-o", "kinds.html")
    for dark in (False, True):
        f = Flame(browser, "kinds.html", dark=dark)
        colour = {name: f.colour(name) for _, name, _ in names}
        hue = {name: f.page.value(f"""(([r, g, b]) => {{ const high = Math.max(r, g, b), c = high - Math.min(r, g, b);
            const h = high === r ? (g - b) / c : high === g ? 2 + (b - r) / c : 4 + (r - g) / c; return c < 18 ? null : (h * 60 + 360) % 360; }})({rgb})""")
               for name, rgb in colour.items()}
        different = ("main", "memcpy", "curl_easy", "ksys_write", "LazyCompile:go")
        apart = {(a, b): min(abs(hue[a] - hue[b]), 360 - abs(hue[a] - hue[b])) for i, a in enumerate(different) for b in different[:i]}
        check.that("program, libc, libraries, kernel and JIT have hues far apart", min(apart.values()) > 30, apart)
        check.that("what is no code is grey", hue["[truncated]"] is None, colour)
        check.that("the C++ library's templates are not the program's, its own libraries are",
                   abs(hue["std::sort<int>"] - hue["memcpy"]) < 20 and abs(hue["part"] - hue["main"]) < 25, hue)
    check.equal("the legend has what is there, and its share", f.text("#legend").split("\n"),
                ["Self:", "program 43.0 %", "libc, runtime 30.0 %", "other libraries 12.0 %", "kernel 6.0 %", "JIT 5.0 %", "no code 4.0 %"])
    f = Flame(browser, "tabs.html")
    check.equal("and only that", f.text("#legend").split("\n"), ["Self:", "program 70.0 %", "other libraries 30.0 %"])


def differential(browser):
    f = Flame(browser, "diff.html")
    check.that("a comparison says the change", "+100 ms (+11 %) against 900 ms" in f.text("#status"), f.text("#status"))
    more, less, same = f.colour("inner"), f.colour("longest_match"), f.colour("ksys_write")
    check.that("more is red", more[0] > more[2] + 40, more)
    check.that("less is blue", less[2] > less[0] + 40, less)
    check.that("the same is grey", max(same) - min(same) < 12, same)
    check.that("the scale has percents", all(part in f.text("#legend") for part in ("\u221210 %", "\u22122.5 %", "0 %", "+2.5 %", "+5.6 %", "+10 %")), f.text("#legend"))
    box = f.frame("longest_match")
    f.page.move(box["x"], box["y"])
    check.that("the tooltip says both, and the percent", "\u221250.0 ms (\u221220 %) against 250 ms" in f.text("#tip"), f.text("#tip"))
    f.choose("#width", "before")
    check.that("widths of the other side", abs(f.frame("ksys_write")["w"] / 1280 - 120 / 900) < 0.01, f.frame("ksys_write"))
    f.choose("#width", "after")
    f.choose("#compare", "shares")
    check.that("shares are compared", ", 0 ns against 1.00 s" in f.text("#status"), f.text("#status"))
    check.that("no complaint of the browser (diff)", not f.complaints(), f.complaints())
    f.shot("diff.png")


def build(name, directory, program, inlined, library):
    """The same sources, built in DIRECTORY."""
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    exe, lib = p.mapping(f"{directory}/{program}"), p.mapping(f"/usr/lib/{library}")
    main = p.frame("main", f"{directory}/app.c", 12, 10, exe)
    lines = [("inner", f"{directory}/inner.h", 7, 5), ("work", f"{directory}/app.c", 30, 20)]
    work = [p.location(lines, exe)] if inlined else [p.location(lines[:1], exe), p.location(lines[1:], exe)]
    deflate = p.frame("deflate", f"{directory}/zlib/deflate.c", 700, 650, lib)
    p.sample([*work, main], [60, 600 * MS])
    p.sample([deflate, *work, main], [40, 400 * MS])
    p.write(os.path.join(WORK, name))


# Nothing changed: two build directories, another name of the program, another version of a library, and a call that
# was inlined in one of them only.
def two_builds(browser):
    build("here.pb", "/home/a/project", "app", True, "libz.so.1.2.13")
    build("there.pb", "/build/b", "app-new", True, "libz.so.1.3")
    build("plain.pb", "/build/b", "app-new", False, "libz.so.1.3")
    for name in ("there", "plain"):
        flame(f"{name}.pb", "-base", "here.pb", "-o", f"{name}.html")
        f = Flame(browser, f"{name}.html")
        check.equal(f"{name}: stacks are the same ones", [f.names(row) for row in range(5)], [["all"], ["main"], ["work"], ["inner"], ["deflate"]])
        colours = [f.colour(frame) for frame in ("main", "work", "inner", "deflate")]
        check.that(f"{name}: nothing changed, all is grey", all(max(c) - min(c) < 12 for c in colours), colours)


COMMENTS = [
    "libcprof 0.1.0, mode cpu, pid 7, Linux x86_64",
    "# samples: 392 taken for 1820 expiries; lost expiries: 31 ring full, 0 no memory, 0 unknown thread, 0 collector limit; 0 in paused threads",
    "cpu time: 10.000 s used by the program, 9.000 s in samples, 1.000 s unsampled",
    "cost: 36.755 ms in the collector, for all modes together",
    "cost: about 1.407 ms of wall time in handlers (0.07 % of the program's CPU time)",
    "stacks: 0 truncated at the depth limit, 12 incomplete",
    "note: this program changes its own code",
]


def more_modes():
    """Files as `cprof run --cpu --heap --lock` leaves them."""
    cpu = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    exe, bare = cpu.mapping("/usr/bin/app"), cpu.mapping("/usr/lib/libpart.so.2")
    main, grow = cpu.frame("main", mapping=exe), cpu.frame("grow", mapping=exe)
    cpu.comments = COMMENTS
    cpu.sample([cpu.location([], bare), grow, main], [30, 300 * MS], {"thread": "main"})
    cpu.sample([grow, main], [70, 700 * MS], {"thread": "main"})
    cpu.write(os.path.join(WORK, "app.cpu.pb"))
    for kind, types in (("heap", ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")),
                        ("peak", ("total_objects", "total_space", "peak_objects", "peak_space"))):
        p = Profile([(name, "bytes" if "space" in name else "count") for name in types], default=types[-1])
        exe, libc = p.mapping("/usr/bin/app"), p.mapping("/usr/lib/libc.so.6")
        main, grow, malloc = p.frame("main", mapping=exe), p.frame("grow", mapping=exe), p.frame("malloc", mapping=libc)
        p.sample([malloc, grow, main], [10, 40960, 5, 20480])
        p.write(os.path.join(WORK, f"app.{kind}.pb"))
    for kind, types in (("lock", ("contentions", "delay")), ("holders", ("waits", "blocking")), ("wall", ("samples", "wall"))):
        p = Profile([(types[0], "count"), (types[1], "nanoseconds")], default=types[1])
        exe = p.mapping("/usr/bin/app")
        p.sample([p.frame("pthread_mutex_lock"), p.frame("grow", mapping=exe), p.frame("main", mapping=exe)], [3, 5 * MS], {"lock": "cache"})
        p.write(os.path.join(WORK, f"app.{kind}.pb"))
    p = Profile([("waits", "count"), ("delay", "nanoseconds")], default="delay")
    exe, libc = p.mapping("/usr/bin/app"), p.mapping("/usr/lib/libc.so.6")
    wait = [p.frame("sem_wait", mapping=libc), p.frame("take", mapping=exe), p.frame("main", mapping=exe)]
    for name, ms in (("feed", 7), ("trickle", 3)):
        p.sample([p.frame("sem_post", mapping=libc), p.frame(name, mapping=exe), p.frame("[woken by]"), *wait], [1, ms * MS], {"lock": "ready"})
    p.write(os.path.join(WORK, "app.wakers.pb"))


def wakers(browser):
    more_modes()
    flame("app.lock.pb", "app.wakers.pb", "-o", "wakers.html")
    f = Flame(browser, "wakers.html")
    check.equal("a tab for the wakers", f.page.value("[...document.querySelectorAll('[role=tab]')].map(t => t.innerText)"), ["Locks", "Wakers"])
    f.push("#tab-1")
    check.equal("the stack that waited, the mark, the stacks that woke it", [f.names(row) for row in range(1, 7)],
                [["main"], ["take"], ["sem_wait"], ["[woken by]"], ["feed", "trickle"], ["sem_post", "sem_post"]])
    check.that("the time waited", "total 10.0 ms" in f.text("#status"), f.text("#status"))


def tabs(browser):
    more_modes()
    flame(*(f"app.{kind}.pb" for kind in ("cpu", "wall", "heap", "peak", "lock", "holders")), "app.cpu.pb", "-o", "tabs.html")
    f = Flame(browser, "tabs.html")
    page = f.page
    selected = "document.querySelector('[role=tab][aria-selected=true]').innerText"
    check.equal("a tab for each mode", page.value("[...document.querySelectorAll('[role=tab]')].map(t => t.innerText)"),
                ["CPU", "Wall", "Heap", "Peak", "Locks", "Holders"])
    check.that("files of one kind are added up", "total 2.00 s" in f.text("#status"), f.text("#status"))
    f.click("grow")
    f.push("#tab-2")
    check.equal("a click shows the tab", [page.value(selected), f.names(1)], ["Heap", ["main"]])
    check.that("its values", "total 20.0 KiB" in f.text("#status") and "Memory in use" in f.text("#type"), f.text("#status"))
    check.that("the zoom stays where the path is there", f.text("#path").endswith("grow"), f.text("#path"))
    check.that("filters are of this tab", not f.text("#filter").count("lock"), f.text("#filter"))
    page.key("ArrowRight")
    check.equal("arrows go on", [page.value(selected), page.value("document.activeElement.id")], ["Peak", "tab-3"])
    f.push("#tab-4")
    check.that("locks", "cache" in f.text("#filter") and "Time waited" in f.text("#type"), f.text("#filter"))
    f.push("#tab-0")
    notes = f.text("#notes")
    check.that("losses are seen", all(part in notes for part in ("lost expiries: 31 ring full", "stacks: 12 incomplete", "1.000 s of 10.000 s unsampled")), notes)
    check.that("what was not lost isn't", not any(part in notes for part in ("no memory", "paused", "truncated")), notes)
    check.that("hints are seen", "this program changes its own code" in notes and "30.0 % is in libpart.so.2, whose functions have no names" in notes, notes)
    check.that("the cost is seen", "0.07 % of the program" in f.text("#summary"), f.text("#summary"))
    f.push("#about")
    check.that("all of it is among the details", "36.755 ms in the collector" in f.text("#details"), f.text("#details"))
    check.that("without the comments' sign", "# samples" not in f.text("#details"), f.text("#details"))
    f.push("#about")
    check.equal("no complaint of the browser (tabs)", f.complaints(), [])
    f.shot("tabs.png")


def address(browser):
    f = Flame(browser, "tabs.html")
    page = f.page
    wait = "new Promise(done => { const look = () => location.hash.includes('search=') ? done() : requestAnimationFrame(look); look(); })"
    f.push("#tab-2")
    f.click("grow")
    f.choose("#type", "Allocated memory")
    f.search("mal")
    page.value(wait)
    before = [f.text("#path"), f.text("#found"), f.text("#status"), f.names(1)]
    page.reload()
    check.equal("a page that is loaded again shows the same", [f.text("#path"), f.text("#found"), f.text("#status"), f.names(1)], before)
    check.equal("the field too", page.value("byId('search').value"), "mal")
    page.back()
    check.that("back: the value", "20.0 KiB" in f.text("#status"), f.text("#status"))
    page.back()
    check.equal("back: the zoom", f.text("#path"), "")
    page.back()
    check.equal("back: the tab", f.page.value("document.querySelector('[role=tab][aria-selected=true]').innerText"), "CPU")
    copy = Flame(browser, "tabs.html#tab=Nothing&value=x&zoom=zz.9&search=%2F(%2F&filter=x&layout=flame")
    check.that("an address of another page does no harm", copy.names(1) == ["main"] and "Invalid expression" in copy.text("#found"), copy.text("#found"))
    check.equal("no complaint of the browser (address)", f.complaints() + copy.complaints(), [])


def phone(browser):
    f = Flame(browser, "tabs.html")
    f.push("#tab-2")
    f.push("#functions")
    rows = f.page.value("[...document.querySelectorAll('#table tbody tr')].map(r => r.innerText)")
    check.equal("your code comes first, with what it calls in libraries", rows,
                ["20.0 KiB100.0 %\t\t20.0 KiB100.0 %\tgrow", "\t20.0 KiB100.0 %\t20.0 KiB100.0 %\tmalloc", "\t\t20.0 KiB100.0 %\tmain"])
    f = Flame(browser, "tabs.html", width=390, height=844)
    page = f.page
    box = "(b => [b.left, b.top, b.right, b.bottom])(document.querySelector('%s').getBoundingClientRect())"
    check.that("a phone needs no sideways scrolling", page.value("document.documentElement.scrollWidth") <= 390)
    check.equal("the controls are folded", page.value("getComputedStyle(byId('tools')).display"), "none")
    check.that("more than half is the graph", page.value("byId('graph').clientHeight") > 420, page.value("byId('graph').clientHeight"))
    f.push("#menu")
    check.equal("the menu opens", [page.value("byId('menu').getAttribute('aria-expanded')"), page.value("getComputedStyle(byId('tools')).display")], ["true", "flex"])
    f.push("#functions")
    f.push("#menu")
    table, graph = page.value(box % "#table"), page.value(box % "#graph")
    check.equal("all of the page is on the screen", page.value("Math.round(document.querySelector('footer').getBoundingClientRect().bottom)"), 844)
    check.that("names are seen in the table", page.value("document.querySelector('#table tbody button').getBoundingClientRect().right") <= 390)
    check.that("the table doesn't cover the graph", table[1] >= graph[3] - 1 and graph[3] - graph[1] > 150, table, graph)
    f.shot("phone.png")
    check.equal("no complaint of the browser (phone)", f.complaints(), [])


# Four workers run and wait for a lock; one is ended by another thread. A flusher runs each second; the rest is idle.
def timed_files():
    threads = [f"thread {100 + i} {name}" for i, name in enumerate(["worker-1", "worker-2", "worker-3", "flusher", "<img/src=x/onerror=alert(1)>", "idle"])]
    begin = ["time 1700000000s", "end 8s", "comment libcprof 1, mode x, pid 77, Linux"]
    cpu = begin + ["type samples count", "type cpu nanoseconds", "sample main;work;a 150 1500ms", "sample main;work;b 90 1800ms",
                   "sample main;flush 8 80ms", "sample main;flush;kind=other 4 60ms", "sample [unsampled] 0 500ms", *threads]
    cpu += [f"event {i * 40 + t * 7 + 10}ms {t} {0 if i % 8 < 5 else 1} 10ms" for i in range(80) for t in range(3)]
    cpu += [f"event {i * 1000 + 30}ms 3 {2 + i % 2} 10ms" for i in range(1, 8)]
    cpu += [f"span {i * 500}ms 200ms {i % 3} request" for i in range(16)] + [f"span {i * 1000}ms 90ms 4 <b>tick</b>" for i in range(8)]
    cpu += [f"counter {i}s {100000000 + i * 1000000} {i * 700}ms" for i in range(8)]
    lock = begin + ["type contentions count", "type delay nanoseconds", "sample main;work;lock;lock=cache 21 2205ms", *threads]
    lock += [f"event {100 + i * 300}ms {i % 3} 0 105ms 105ms" for i in range(21)] + ["wake 2005ms 0 3 0", "wake 2305ms 1 5 0"]
    heap = begin + ["type alloc_objects count", "type alloc_space bytes", "type inuse_objects count", "type inuse_space bytes",
                    "sample main;grow 40 40960 8 8192", "sample main;other 5 500 5 500", *threads]
    heap += [f"event {i * 200}ms 1 0 1024" for i in range(40)] + [f"death {i * 200 + 1500}ms 1 0 1024" for i in range(32)]
    holders = begin + ["type waits count", "type blocking nanoseconds", "sample main;refill;lock=cache 1 90ms", "sample main;other;lock=else 1 105ms", *threads]
    holders += ["event 1905ms 4 0 90ms 90ms", "event 1900ms 2 1 105ms 105ms"]
    wall = begin + ["type samples count", "type wall nanoseconds", "sample pool_main;work;wait=lock 4 400ms",
                    "sample pool_main;pop;wait=condition 60 6000ms", "sample other_main;pop;use;more;wait=condition 60 6000ms", "sample other_main 1 1ms", *threads]
    wall += [f"event {i * 100}ms {t} {1 + t} 100ms 100ms" for i in range(60) for t in (0, 1)] + [f"event {6000 + i * 100}ms 0 0 100ms 100ms" for i in range(4)]
    for name, lines in (("cpu", cpu), ("lock", lock), ("heap", heap), ("lock.holders", holders), ("wall", wall)):
        subprocess.run([MAKE_TIMES, f"timed.{name}.pb"], cwd=WORK, input="\n".join(lines) + "\n", text=True, check=True)


def folded_sum(name, kind, window):
    lines = subprocess.run([CPROF, "folded", f"-sample_index={kind}", f"-from={window[0]}", f"-to={window[1]}", name], cwd=WORK, capture_output=True, text=True, check=True)
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines.stdout.splitlines())


# The graph of the selection stands under the lanes, of the tab that is chosen there.
def below(f):
    page = f.page
    check.equal("the graph of the window is below", [page.value("byId('scroller').hidden"), f.names(1), f.text("#below").split(":")[0]], [False, ["main"], "In the selection"])
    f.choose("#below-tab", "Locks")
    check.equal("of another tab", [f.names(3), page.value("cprofFlame.timeShown")], [["lock"], True])
    check.that("the address holds it", "below=Locks" in page.value("location.hash"), page.value("location.hash"))
    page.reload()
    check.equal("a page that is loaded again shows it", [f.names(3), page.value("byId('below-tab').value")], [["lock"], "1"])
    f.click("work")
    page.value("byId('graph').focus()")
    page.key("ArrowDown")
    check.that("it has its own keys", "lock" in f.focused() and "total" in f.text("#status"), f.focused())
    page.key("Escape")
    f.choose("#below-tab", "CPU")
    f.shot("time-below.png")


def span_table(f):
    page = f.page
    f.push("#tab-time")
    check.equal("spans are told when asked for", page.value("byId('spans').hidden"), True)
    f.push("#spanTable")
    rows = "[...document.querySelectorAll('#spans tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    check.equal("of each kind of span", page.value(rows), [["request", "16", "200 ms", "200 ms", "200 ms", "200 ms"], ["<b>tick</b>", "8", "90.0 ms", "90.0 ms", "90.0 ms", "90.0 ms"]])
    f.push("#spans tbody tr:nth-child(2) button")
    window = page.value("cprofFlame.all.window")
    check.equal("a click selects the slowest, in time and thread", [window["to"] - window["from"], page.value("cprofFlame.timeline.rows[cprofFlame.timeline.focus].lane.tid")],
                [90e6, 104])
    check.that("and says what it is", "<b>tick</b>: 90.0 ms" in f.text("#status"), f.text("#status"))
    check.equal("the table is of the window", page.value(rows)[-1][:2], ["<b>tick</b>", "1"])
    page.key("p")
    check.equal("p closes it", page.value("byId('spans').hidden"), True)
    page.value("cprofFlame.setWindow(null)")


# Workers that wait for work have another colour than those that wait for each other.
def idle_workers(browser):
    # A heap profile has the time of its end.
    subprocess.run([MAKE_TIMES, "ended.heap.pb"], cwd=WORK, check=True, text=True, input="end 8s\ndump 1700000008s\ntype alloc_objects count\ntype alloc_space bytes\n"
                   "type inuse_objects count\ntype inuse_space bytes\nsample main;grow 1 8 1 8\nthread 1 one\nevent 2s 0 0 8\n")
    flame("timed.cpu.pb", "ended.heap.pb", "-o", "ended.html")
    line = Flame(browser, "ended.html#tab=Time").page.value("(times => [times.length, times.heapInUse.indexOf(8)])(cprofFlame.all.times)")
    check.equal("a heap profile is on the same axis", line, [8e9, 256])
    flame("timed.wall.pb", "-o", "wall.html")
    f = Flame(browser, "wall.html#tab=time")
    check.equal("an address in lower case opens the tab, too", f.page.value("cprofFlame.timeShown"), True)
    kinds = f.page.value("""(line => [[0, 1], [1, 1], [0, 6.1]].map(([lane, at]) =>
        WAITS[(line.times.kinds[line.times.at(line.times.lanes[lane], at * 1e9 + 5e7, 0).kind] - RUNNING) % WAITS.length]))(cprofFlame.timeline)""")
    check.equal("idle workers", kinds, ["idle", "thread", "lock"])


def time(browser):
    timed_files()
    flame("timed.cpu.pb", "timed.lock.pb", "timed.heap.pb", "timed.lock.holders.pb", "-o", "timed.html")
    f = Flame(browser, "timed.html")
    page = f.page
    check.equal("a tab for the time", page.value("[...document.querySelectorAll('[role=tab]')].map(t => t.innerText)"), ["CPU", "Locks", "Heap", "Holders", "Time"])
    f.push("#tab-time")
    check.equal("nothing is selected, so there is no graph below", page.value("byId('scroller').hidden"), True)
    rows = page.value("cprofFlame.timeline.rows.map(row => row.text || row.lane.name)")
    check.equal("lanes: a name's threads are together, then the rest; idle ones are folded", [rows[0], *sorted(rows[1:4]), *rows[4:]],
                ["worker \u00d7 3", "worker-1", "worker-2", "worker-3", "flusher", "<img/src=x/onerror=alert(1)>", "\u25b8 1 idle thread"])
    f.shot("time.png")
    box = page.value("(b => [b.left + cprofFlame.timeline.gutter, b.top, cprofFlame.timeline.plot])(byId('lanes').getBoundingClientRect())")
    x = lambda seconds: box[0] + box[2] * seconds / 8  # noqa: E731
    page.drag(x(2), box[1] + 100, x(4))
    window = page.value("cprofFlame.all.window")
    check.that("a drag selects", abs(window["from"] - 2e9) < 2e7 and abs(window["to"] - 4e9) < 2e7, window)
    chip = f.text("#chips")
    check.that("length and share are said", "2.00 s, 25.0 % of the run" in chip and "of CPU time" in chip, chip)
    where = page.value("location.hash")
    check.that("the address holds it", "tab=Time" in where and f"time={window['from'] / 1e9:g}-{window['to'] / 1e9:g}" in where, where)
    below(f)
    f.push("#functions")
    before = [page.value(TABLE), chip]
    check.that("the table is of the window", 0 < len(before[0]) and before[0] != page.value("(cprofFlame.setWindow(null), %s)" % TABLE), before)
    page.back()
    check.equal("back selects again", page.value("cprofFlame.all.window"), window)
    page.reload()
    f.push("#functions")
    check.equal("a page that is loaded again has the selection", [page.value(TABLE), f.text("#chips")], before)
    page.value("byId('lanes').focus()")
    page.key("z")
    check.that("z zooms to it", page.value("cprofFlame.timeline.to - cprofFlame.timeline.from") < 2.5e9)
    page.wheel(x(4), box[1] + 100, 400)
    check.that("the wheel zooms", page.value("cprofFlame.timeline.to - cprofFlame.timeline.from") > 3e9)
    page.key("0")
    page.key("Escape")
    check.equal("Escape selects nothing", [page.value("cprofFlame.all.window"), f.text("#chips")], [None, ""])
    place = page.value("""(() => { const line = cprofFlame.timeline, row = line.rows.find(one => one.lane && one.lane.name === 'worker-1'), b = byId('lanes').getBoundingClientRect();
        return [b.left + line.x(1.95e9), b.top + row.top + row.height - 8]; })()""")
    page.move(*place)
    check.that("the tooltip says what a thread waits for", "waits for a lock: 105 ms (cache)" in f.text("#tip"), f.text("#tip"))
    page.click(*place)
    check.that("a click shows who ended the wait, and who held the lock longest",
               "ended by flusher 103" in f.text("#status") and "held longest by <img/src=x/onerror=alert(1)> 104 in refill" in f.text("#status"), f.text("#status"))
    page.key("Enter")
    check.equal("Enter selects what it is about", page.value("cprofFlame.all.window"), {"from": 1900000000, "to": 2005000000})
    page.key("Escape")
    page.key("ArrowRight")
    check.that("arrows go from event to event", "worker-1 100" in f.text("#status"), f.text("#status"))
    for _ in range(8):
        page.key("ArrowDown")
    check.that("and from thread to thread", "idle thread" in f.text("#status"), f.text("#status"))
    page.key("Enter")
    check.equal("idle threads are unfolded", page.value("cprofFlame.timeline.rows.length"), 8)
    page.value("cprofFlame.timeline.toggleIdle()")
    page.value("(line => line.select(line.times.at(line.times.lanes[1], 2.27e9, 1e6)))(cprofFlame.timeline)")
    check.that("an idle thread that ended the wait is unfolded, too", page.value("cprofFlame.timeline.rows.length") == 8 and
               "ended by idle 105" in f.text("#status"), f.text("#status"))
    check.that("markup in names stays text", page.value("document.querySelectorAll('img').length") == 0)
    # Sums of any window are the tool's.
    kinds = [(0, "cpu", ("samples", "cpu")), (1, "lock", ("contentions", "delay")), (2, "heap", ("alloc_space", "inuse_space", "inuse_objects"))]
    for window in ((0, 1.95), (1.95, 2.003), (2.003, 5), (5, 8), (0.5, 7.25)):
        page.value(f"cprofFlame.setWindow({{ from: {window[0] * 1e9}, to: {window[1] * 1e9} }})")
        for tab, name, types in kinds:
            for kind in types:
                whole = page.value(f"""(() => {{ const tab = cprofFlame.all.tabs[{tab}];
                    return new Sums(tab, tab.types.findIndex(type => type.name === '{kind}'), [], false).whole; }})()""")
                check.equal(f"{kind} between {window[0]} and {window[1]} s", whole, folded_sum(f"timed.{name}.pb", kind, window))
    wanted = folded_sum("timed.cpu.pb", "cpu", (0.5, 7.25))
    f.push("#tab-0")
    check.that("the flame graph is of the window", page.value("cprofFlame.sums.whole") == wanted and "of the run" in f.text("#chips"), f.text("#status"))
    f.push("#chips button")
    check.that("and of all again", "total 3.94 s" in f.text("#status"), f.text("#status"))
    span_table(f)
    idle_workers(browser)
    copy = Flame(browser, "timed.html#tab=Time&time=zz--1&zoom=9", width=390, height=844, dark=True)
    check.that("a phone needs no sideways scrolling", copy.page.value("document.documentElement.scrollWidth") <= 390)
    check.equal("nor does a bad address harm", copy.page.value("cprofFlame.all.window"), None)
    copy.page.ask("Emulation.setTouchEmulationEnabled", enabled=True)
    for kind, points in (("touchStart", [200]), ("touchMove", [230]), ("touchMove", [260]), ("touchEnd", [])):
        copy.page.ask("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": 200} for x in points])
    copy.page.settle()
    check.that("a finger selects, too", "of the run" in copy.text("#chips"), copy.text("#chips"))
    boxes = copy.page.value("['time', 'below', 'scroller'].map(id => (b => [b.top, b.bottom, b.width])(byId(id).getBoundingClientRect()))")
    check.that("then the graph is below the lanes", boxes[0][1] <= boxes[1][0] and boxes[1][1] <= boxes[2][0] and all(b[2] == 390 for b in boxes), boxes)
    copy.shot("time-phone.png")
    check.equal("no complaint of the browser (time)", f.complaints() + copy.complaints(), [])


def main():
    make_mix(os.path.join(WORK, "mix.pb"))
    make_mix(os.path.join(WORK, "base.pb"), inner=15, longest=25)
    flame("mix.pb", "-base", "base.pb", "-o", "diff.html")
    with Browser() as browser:
        for part in (differential, two_builds, tabs, wakers, address, kinds, phone, time):
            part(browser)
    return check.finish()


sys.exit(main())
