# SPDX-License-Identifier: BSD-3-Clause
"""The graph of `cprof flame` in a real browser, used as people use it. Prints TAP.

flame-page.py CPROF WORK-DIRECTORY MAKE-TIMES
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chromium import Browser  # noqa: E402
from flame_mix import EVIL, make_mix  # noqa: E402
from flame_page import WORK, Flame, check, flame  # noqa: E402
from pprof_build import Profile  # noqa: E402


def see_and_zoom(f):
    page = f.page
    check.equal("the heading is the program", f.text("h1"), "app")
    check.equal("stacks stand root first", f.names(1), ["_start", "[truncated]"])
    check.equal("inlined frames follow their caller", f.names(3)[:1] + f.names(4)[:1] + f.names(5)[:1], ["work", "middle", "inner"])
    f.click("deflate")
    check.that("a click zooms", f.frame("deflate")["w"] > 1200, f.frames())
    check.that("the path shows where", "main" in f.text("#path") and f.text("#path").endswith("deflate"), f.text("#path"))
    page.key("Escape")
    check.equal("Escape goes one step out", f.text("#path").split("\n")[-1].split("\u203a")[-1].strip()[-5:], "inner")
    page.value("[...document.querySelectorAll('#path button')].find(b => b.innerText === '_start').focus()")
    page.key("Enter")
    page.settle()
    check.that("a step of the path is a button", f.text("#path").endswith("_start"), f.text("#path"))
    f.push("#reset")
    check.equal("reset shows everything", [f.text("#path"), len(f.names(1))], ["", 2])
    box = f.frame("main")
    page.wheel(box["x"], box["y"], -400, control=True)
    check.that("Ctrl + wheel zooms around the pointer", f.frame("all")["w"] > 1200 and page.value("cprofFlame.to - cprofFlame.from < 0.5 * cprofFlame.tree.width(0)"))
    before = page.value("cprofFlame.from")
    page.drag(700, box["y"], 500)
    check.that("dragging moves sideways", page.value("cprofFlame.from") > before)
    page.key("0")


# The marks of the ruler: { text, x }.
RULER = "[...document.querySelectorAll('#axis span')].map(s => ({ text: s.innerText, x: parseFloat(s.style.left) }))"


def ruler(f):
    page = f.page
    width = f.frame("all")["w"]
    marks = page.value(RULER)
    check.that("the ruler begins with 0", marks[0] == {"text": "0", "x": 0}, marks)
    # 1 s in all.
    check.that("a mark is where its value is", all(abs(m["x"] - float(m["text"].split()[0]) * width / 1000) < 1 for m in marks[1:]), marks)
    check.that("its steps are round and fit", 4 <= len(marks) <= width / 100 and marks[1]["text"] == "100 ms", marks)
    f.click("deflate")
    zoomed = page.value(RULER)
    check.that("it follows the zoom", zoomed != marks and zoomed[0]["text"] == "0" and zoomed[1]["text"] == "50.0 ms", zoomed)
    f.push("#reset")
    check.equal("and comes back", page.value(RULER), marks)


def tooltip(f):
    box = f.frame("longest_match")
    f.page.move(box["x"], box["y"])
    text = f.text("#tip")
    for part in ("longest_match", "/src/deflate.c:1180", "libz.so.1", "200 ms", "20.0 %", "250 ms", "25.0 %"):
        check.that(f"the tooltip says {part}", part in text, ascii(text))
    box = f.frame("middle")
    f.page.move(box["x"], box["y"])
    check.that("the tooltip says inlined", "inlined" in f.text("#tip"), f.text("#tip"))
    box = f.frame("[truncated]")
    f.page.move(box["x"], box["y"])
    check.that("the tooltip says that a stack isn't whole", "outer part of these stacks is missing" in f.text("#tip"), f.text("#tip"))
    f.page.move(640, 5)
    check.that("the tooltip goes away", f.page.value("byId('tip').hidden"))


def search(f):
    f.search("longest")
    check.that("search says the share of matches", f.text("#found").startswith("25.0 % matched (250 ms; 1 function"), f.text("#found"))
    colour = f.colour("longest_match")
    f.search("/^(inner|middle)$/")
    check.that("a regular expression; nested matches count once", f.text("#found").startswith("60.0 % matched (600 ms; 2 functions"), f.text("#found"))
    check.that("matches have a colour of their own", f.colour("inner") == colour != f.colour("longest_match"))
    f.search("/(/")
    check.equal("what is no expression is marked", f.page.value("byId('search').getAttribute('aria-invalid')"), "true")
    check.that("and what is wrong with it is said", f.text("#found") == "Invalid expression: /(/i: Unterminated group", f.text("#found"))
    f.search("libz")
    check.that("modules are found too", f.text("#found").startswith("37.0 %"), f.text("#found"))
    f.page.key("Enter")
    check.equal("Enter goes to the first match", f.focused(), "deflate")
    f.page.key("n")
    check.equal("n goes to the next", f.focused(), "[libz.so.1]")
    f.page.key("N", shift=True)
    check.equal("N goes back", f.focused(), "deflate")
    f.page.key("/")
    f.page.key("Escape")
    check.equal("Escape in the field ends the search", f.text("#found"), "")


def views(f):
    page = f.page
    f.push("#callers")
    check.equal("callers: functions first, widest first", f.names(1)[:2], ["inner", "longest_match"])
    check.equal("callers: who called stands below", [f.names(row)[0] for row in (2, 3, 4)], ["middle", "work", "main"])
    check.that("callers: one row of callers is as wide as the function",
               abs(sum(x["w"] for x in f.frames() if x["row"] == 2 and x["name"] == "deflate") - f.frame("longest_match")["w"]) < 1)
    check.equal("callers: the button is pressed", page.value("byId('callers').getAttribute('aria-pressed')"), "true")
    page.key("c")
    f.choose("#type", "Samples")
    check.that("another value", "total 100," in f.text("#status"), f.text("#status"))
    check.equal("values have the field's names", f.page.value("[...byId('type').options].map(o => o.text)"), ["Samples", "CPU time", "Allocated memory"])
    f.choose("#type", "Allocated memory")
    check.that("values with their units", "total 400 KiB" in f.text("#status"), f.text("#status"))
    f.choose("#type", "CPU time")
    f.choose("#filter", "thread: worker")
    check.that("a thread alone", "total 280 ms" in f.text("#status"), f.text("#status"))
    check.that("its frames only", not any(x["name"] == "ksys_write" for x in f.frames()))
    f.choose("#filter", "thread: main")
    check.that("values of one key are alternatives", "total 1.00 s" in f.text("#status"), f.text("#status"))
    f.push("#chips button")
    f.choose("#filter", "tid: 7")
    check.that("keys must all be met", "No samples" in f.text("#status"), f.text("#status"))
    check.that("an empty graph says so, too", page.value("(c => new Set(c.getContext('2d').getImageData(12, 20, 150, 18).data).size)(byId('graph')) > 2"))
    f.push("#chips button")
    f.push("#chips button")
    check.that("filters go away", "total 1.00 s" in f.text("#status"), f.text("#status"))
    f.push("#flame")
    check.that("flame: the root at the bottom", f.frame("all")["y"] > f.frame("main")["y"] > 400)
    f.push("#icicle")
    check.that("icicle: the root at the top", f.frame("all")["y"] < f.frame("main")["y"] < 400)
    f.push("#functions")
    check.that("the table of functions", f.text("#table tbody tr").split("\t")[:2] == ["600 ms60.0 %", "300 ms30.0 %"] and "inner" in f.text("#table tbody tr"), f.text("#table tbody tr"))
    f.push("#table tbody button")
    check.that("a function of the table shows its callers and callees", "inner" in f.text("#path [aria-current]") and f.names(0) == ["_start"], f.text("#path"))
    f.push("#functions")
    f.push("#path .back")
    check.equal("a button leads back", [f.text("#path"), f.names(0)], ["", ["all"]])


# The size of a panel does not depend on the canvas, which follows it some frames later: else the panel
# moves while the user aims at it.
def panels_in_place(f):
    for button, panel in (("functions", "table"), ("about", "details"), ("help", "keys")):
        toggle = f"byId('{button}').click()"
        at_once, later = f.page.value(f"""new Promise(done => {{
            const place = () => (b => [b.x, b.y, b.width, b.height])(byId('{panel}').getBoundingClientRect());
            {toggle};
            const at_once = place();
            let frames = 20;
            const next = () => frames-- ? requestAnimationFrame(next) : done([at_once, place()]);
            next();
        }})""")
        f.page.value(toggle)
        check.equal(f"{panel} opens in its place", at_once, later)


def keyboard(f):
    page = f.page
    page.value("document.activeElement.blur(); byId('help').focus()")
    page.key("Tab")
    check.equal("Tab reaches the graph", page.value("document.activeElement.id"), "graph")
    for key, wanted in (("ArrowDown", "all"), ("ArrowDown", "_start"), ("ArrowDown", "main"), ("ArrowDown", "work"),
                        ("ArrowRight", "ksys_write"), ("ArrowLeft", "work"), ("ArrowUp", "main"), ("ArrowDown", "work")):
        page.key(key)
        check.equal(f"{key} goes to {wanted}", f.focused(), wanted)
    page.key("Enter")
    check.that("Enter zooms", f.text("#path").endswith("work"), f.text("#path"))
    check.that("the status says what is focused", f.text("#status").startswith("work: total 600 ms, 60.0 %; own 0 ns (/src/work.c:90, app)"), f.text("#status"))
    page.key("Backspace")
    page.key("+")
    check.that("+ zooms in", page.value("cprofFlame.to - cprofFlame.from < cprofFlame.tree.width(0) * 0.7"))
    page.key("Home")
    check.that("Home shows everything", page.value("cprofFlame.to - cprofFlame.from === cprofFlame.tree.width(0)"))
    page.key("?")
    check.equal("? shows the keys", page.value("byId('keys').hidden"), False)
    page.key("?")


def colours(f):
    page = f.page
    check.equal("light by the system's wish", page.value("document.documentElement.dataset.theme"), "light")
    page.prefer(True)
    page.settle()
    check.equal("dark when that changes", page.value("document.documentElement.dataset.theme"), "dark")
    check.that("the canvas too", sum(f.pixel(640, 700)) < 150, f.pixel(640, 700))
    f.shot("dark.png")
    page.key("t")
    check.equal("the toggle", [page.value("document.documentElement.dataset.theme"), f.text("#theme")], ["light", "Theme: light"])
    worst = page.value("""(() => {
        const context = document.createElement('canvas').getContext('2d');
        const part = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = colour => { context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
            const [r, g, b] = context.getImageData(0, 0, 1, 1).data; return 0.2126 * part(r / 255) + 0.7152 * part(g / 255) + 0.0722 * part(b / 255); };
        const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
        let worst = [99];
        for (const look of Object.values(LOOKS)) {
            const backs = [look.mark(), look.root, look.match, look.same, look.alive, ...Object.values(look.waits), ...Array.from({ length: 12 }, (_, i) => look.span(i * 30))];
            for (let s = 0; s <= 1; s += 0.125) {
                backs.push(look.kernel(s), look.jit(s), look.changed(s, true), look.changed(s, false));
                backs.push(look.runtime(s));
                for (let t = 0; t < 1; t += 0.0833)
                    backs.push(look.program(s, t), look.library(s, t));
            }
            for (const back of backs)
                worst = [contrast(look.text, back), look.text, back][0] < worst[0] ? [contrast(look.text, back), look.text, back] : worst;
        }
        return worst; })()""")
    check.that("text on every colour has a contrast of 4.5 or more", worst[0] >= 4.5, worst)
    page.prefer(False)


def names(f):
    for name, wanted in (("std::map<int, std::pair<a, b> >::find(int)", ["std::map::find(int)", "find(int)"]),
                         ("std::vector<int>::operator[]", ["std::vector::operator[]", "operator[]"]),
                         ("std::operator< <char, T>", ["std::operator<", "operator<"]), ("<T as core::fmt::Debug>::fmt", ["fmt"]),
                         ("runtime/pprof.Start", ["pprof.Start"]), ("main", []), ("(anonymous namespace)::go", ["go"]), ("a::", [])):
        check.equal(f"short for {name}", f.page.value(f"shorterNames({json.dumps(name)})"), wanted)


def short_names(f):
    for name, wanted in (("std::map<int, std::pair<a, b> >::find(int)", "std::map<\u2026>::find(int)"), ("main", "main"),
                         ("f<a>(std::vector<int, b> const&)", "f<\u2026>(std::vector<\u2026> const&)"), ("std::operator< <char, T>", "std::operator< <\u2026>"),
                         ("X<a>::operator->()", "X<\u2026>::operator->()"), ("<T as Trait<U> >::go", "<T as Trait<\u2026> >::go"),
                         ("g<A<&B::operator()>, C>::h", "g<\u2026>::h"), ("broken<a", "broken<a"), ("std::operator<< <T>", "std::operator<< <\u2026>")):
        check.equal(f"short for {name}", f.page.value(f"shortName({json.dumps(name)})"), wanted)
    f.push("#functions")
    rows = f.page.value("[...document.querySelectorAll('#table tbody button')].map(b => [b.innerText, b.title])")
    check.that("the table has short names, and the whole one at hand", ["Interpreter::~run<\u2026>", "Interpreter::~run<int>"] in rows, rows)
    f.push("#functions")
    f.click("Interpreter::~run<int>")
    check.that("the path too", f.text("#path").endswith("Interpreter::~run<\u2026>"), f.text("#path"))
    box = f.frame("Interpreter::~run<int>")
    f.page.move(box["x"], box["y"])
    check.that("the tooltip has the whole name", "Interpreter::~run<int>" in f.text("#tip"), f.text("#tip"))
    f.page.key("0")


def tip_beside_children(f):
    tip = "(b => [b.left, b.top, b.right, b.bottom])(byId('tip').getBoundingClientRect())"
    for layout in ("#icicle", "#flame"):
        f.push(layout)
        for name in ("deflate", "work", "main", "_start"):
            box = f.frame(name)
            f.page.move(box["x"] - box["w"] / 2 + 2, box["y"])
            left, top, right, bottom = f.page.value(tip)
            hidden = [x["name"] for x in f.frames() if x["row"] in (box["row"] + 1, box["row"] + 2) and x["y"] + 9 > top and x["y"] - 9 < bottom]
            check.equal(f"{layout}: the tooltip of {name} hides no children", hidden, [])
    f.push("#icicle")


def marks(f):
    """Inline marks are drawn in wide frames only, and never without room for letters."""
    seen = f.page.value("""(() => { const marked = [], { canvas } = cprofFlame, real = canvas.drawInlineMark;
        const widths = canvas.rows.flatMap(row => row.node.map((node, i) => node > 0 && cprofFlame.tree.inlined(node) ? row.w[i] : 0)).filter(Boolean);
        canvas.drawInlineMark = x => marked.push(x); cprofFlame.drawNow(); canvas.drawInlineMark = real;
        return [widths.length, marked.length]; })()""")
    check.equal("wide inlined frames have their mark", seen, [2, 2])
    f.page.resize(80, 800)
    seen = f.page.value("""(() => { let marked = 0; const { canvas } = cprofFlame, real = canvas.drawInlineMark;
        canvas.drawInlineMark = () => marked++; cprofFlame.drawNow(); canvas.drawInlineMark = real; return marked; })()""")
    check.equal("narrow ones don't", seen, 0)
    f.page.resize(1280, 800)


def hostile(f):
    names = [x["name"] for x in f.frames()]
    check.that("markup in a name stays text", EVIL in names, ascii(names))
    check.that("what turns text around is shown", any("\\u202e" in n and "\\u2028" in n for n in names), ascii(names))
    check.that("bytes that are no UTF-8 are replaced", "broken\ufffd\ufffdutf8\\u0007" in names, ascii(names))
    f.click(EVIL)
    box = f.frame(EVIL)
    f.page.move(box["x"], box["y"])
    check.that("and in tooltip and path", EVIL in f.text("#tip") and EVIL in f.text("#path"))
    check.that("no element came of it", f.page.value("document.querySelectorAll('img, b').length + document.scripts.length") <= 3)
    check.equal("nothing of it ran", f.page.value("document.title"), "app \u2013 cprof flame")
    f.page.key("0")


# A Rust program: 6 frames before its main; fib calls itself, and two functions call it; two closures of main.
RUNTIME = ["_start", "__libc_start_main", "__libc_start_call_main", "main", "std::rt::lang_start", "std::panicking::try"]


def started(name):
    p = Profile([("samples", "count")])
    exe, libc = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6")
    start = [p.frame(one, mapping=libc if "_start_" in one else exe) for one in RUNTIME]
    main, fib, odd, even = [p.frame(one, "/opt/app/main.rs", 1, 1, exe) for one in ("app::main", "app::fib", "app::odd", "app::even")]
    closures = [p.frame(f"app::main::{{closure#{i}}}", "/opt/app/main.rs", 9, 9, exe) for i in (1, 2)]
    for stack, n in (([main, odd, fib, fib, fib, even], 30), ([main, even, fib], 20), ([main, even, fib, fib], 10), ([main, closures[0]], 8),
                     ([main, closures[1]], 7), ([main], 5), ([], 4)):
        p.sample((start + stack)[::-1], [n])
    p.sample(start[:2][::-1], [1])
    p.write(os.path.join(WORK, name))


def runtime(browser):
    started("started.pb")
    flame("started.pb", "-o", "started.html")
    f = Flame(browser, "started.html")
    page, folded = f.page, "\u25b8 6 frames of the runtime"
    check.equal("the runtime before main is one row", [f.names(1), f.names(2)], [[folded], ["app::main"]])
    check.equal("which loses no sample", page.value("[cprofFlame.tree.value(1), cprofFlame.tree.self(1)]"), [85, 5])
    box = f.frame(folded)
    page.move(box["x"], box["y"])
    check.that("its tooltip says which", all(one in f.text("#tip") for one in RUNTIME), f.text("#tip"))
    tips = []
    for name in ("app::main::{closure#1}", "app::main::{closure#2}"):
        box = f.frame(name)
        page.move(box["x"], box["y"])
        tips.append(f.text("#tip strong"))
    check.equal("two closures of a function are told apart", tips, ["app::main::{closure#1}", "app::main::{closure#2}"])
    f.click("app::odd")
    path = f.text("#path")
    f.push("#reset")
    f.click(folded)
    check.equal("a click opens it", [f.names(row)[0] for row in range(1, 8)], [*RUNTIME, "app::main"])
    check.that("the address holds it", "runtime=open" in page.value("location.hash"), page.value("location.hash"))
    f.click("app::odd")
    page.key("r")
    check.equal("r folds it; the zoom stays", [f.text("#path"), f.names(1)], [path, [folded]])
    page.reload()
    check.equal("a page that is loaded again shows the same", [f.text("#path"), f.names(1)], [path, [folded]])
    f.push("#reset")
    f.push("#callers")
    check.equal("callers end in it, too", sorted({x["name"] for x in f.frames() if x["row"] == 4}), ["app::fib", "app::main", folded])
    page.key("c")
    sandwich(f, folded)
    p = Profile([("samples", "count")])
    exe, libc = p.mapping("/usr/bin/stripped"), p.mapping("/usr/lib/libc.so.6")
    stack = [p.location([], exe), p.frame("__libc_start_main", mapping=libc), p.frame("__libc_start_call_main", mapping=libc), p.frame("work", mapping=exe)]
    p.sample(stack[::-1], [1])
    p.write(os.path.join(WORK, "stripped.pb"))
    flame("stripped.pb", "-o", "stripped.html")
    bare = Flame(browser, "stripped.html")
    check.equal("so is that of a stripped program", [bare.names(1), bare.names(2)], [["\u25b8 3 frames of the runtime"], ["work"]])
    check.equal("no complaint of the browser (runtime)", f.complaints(), [])


def sandwich(f, folded):
    page = f.page
    rows = lambda: [sorted(set(f.names(row))) for row in range(page.value("cprofFlame.canvas.rows.length"))]  # noqa: E731
    fib = [[folded], ["app::main"], ["app::even", "app::odd"], ["app::fib"], ["app::fib"], ["app::fib"], ["app::even"]]
    for name, go in (("a second click", lambda: f.click("app::odd")), ("s", lambda: page.key("s")), ("the button", lambda: f.push("#sandwich"))):
        f.click("app::odd")
        go()
        check.equal(f"{name} shows callers above and callees below", rows(), [[folded], ["app::main"], ["app::odd"], ["app::fib"], ["app::fib"], ["app::fib"], ["app::even"]])
        page.key("Escape")
        check.that("Escape leads back to the zoom", f.names(0) == ["all"] and f.text("#path").endswith("app::odd"), f.text("#path"))
        f.push("#reset")
    f.click("app::odd")
    f.click("app::odd")
    f.click("app::fib")
    check.equal("a click there goes on: all calls of it, recursion once", rows(), fib)
    check.that("with its total", f.text("#status").startswith("app::fib: total 60, 70.6 %"), f.text("#status"))
    widths = [round(f.frame(one)["w"] / f.frame("app::fib")["w"], 2) for one in ("app::main", "app::odd")]
    check.equal("callers are as wide as what they call of it", widths, [0.5, 0.5])
    where = page.value("location.hash")
    check.that("the address holds it (function)", "function=app%3A%3Afib" in where, where)
    page.reload()
    check.equal("a page that is loaded again shows it", rows(), fib)
    page.value("byId('graph').focus()")
    for key, wanted in (("ArrowDown", "app::fib"), ("ArrowUp", "app::odd"), ("ArrowRight", "app::even"), ("ArrowUp", "app::main"), ("ArrowDown", "app::even"),
                        ("ArrowDown", "app::fib")):
        page.key(key)
        check.equal(f"{key} goes to {wanted} (callers and callees)", f.focused(), wanted)
    page.key("ArrowUp")
    page.key("Enter")
    check.that("Enter goes on, too", f.text("#path [aria-current]") == "app::odd", f.text("#path"))
    page.back()
    check.equal("back goes back", f.text("#path [aria-current]"), "app::fib")
    f.push("#flame")
    check.that("flame: callees stand above", f.frame("app::main")["y"] > f.frame("app::odd")["y"], f.frames())
    f.push("#icicle")
    f.push("#path .back")
    check.equal("and everything is there again", [f.names(0), f.text("#path")], [["all"], ""])
    copy = f.page.value("location.hash = 'function=nothing'; new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(cprofFlame.sandwich))))")
    check.equal("a function that isn't there does no harm", copy, -1)


def source(browser):
    text = ["int one;", "</script><script>document.title='harmed'</script>", "hot();", "warm(\t\u202e);", "line 5", *(f"line {i} {'x' * 300}" for i in range(6, 200))]
    with open(os.path.join(WORK, "app.c"), "w") as f:
        f.write("\n".join(text) + "\n")
    p = Profile([("samples", "count")])
    exe = p.mapping("/opt/app/app")
    line = lambda name, number, file="app.c": p.frame(name, file, number, 1, exe)  # noqa: E731
    hot, warm, rare, gone, long = line("f", 3), line("f", 4), line("rare", 5), line("gone", 1, "/nothing/app.c"), [line("long", i) for i in range(10, 190)]
    for stack, n in (([hot, hot, warm], 300), ([warm], 200), ([gone], 100), ([rare], 5), *(([one], 2) for one in long)):
        p.sample(stack[::-1], [n])
    p.write(os.path.join(WORK, "source.pb"))
    flame("source.pb", "-o", "nosource.html")
    flame("source.pb", "-source=" + WORK, "-o", "source.html")
    check.that("a page has sources only if they are asked for", "hot();" not in open(os.path.join(WORK, "nosource.html")).read())
    f = Flame(browser, "source.html")
    table = "[...document.querySelectorAll('#source tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    show = "(name => cprofFlame.showFunction(cprofFlame.profile.frames.findIndex(f => f.name === name)))"
    f.page.value(show + "('f')")
    f.page.settle()
    check.equal("the hot lines are beside the callers and callees, recursion once", f.page.value(table), [
        ["", "", "1", text[0]], ["", "", "2", text[1]], ["", "300", "3", text[2]], ["500", "500", "4", "warm(    \\u202e);"], ["", "", "5", "line 5"],
        ["", "", "6", text[5][:200]]])
    check.that("with file and value", f.text("#source caption") == "app.c: Samples, all samples", f.text("#source caption"))
    for name in ("rare", "gone"):
        f.page.value(show + f"('{name}')")
        check.that(f"{name}: no source", f.page.value("byId('source').hidden"))
    f.page.value(show + "('long')")
    size = f.page.value("byId('source').innerText.length")
    check.that("of a long function a few KB", 3000 < size < 6000, size)
    f.page.key("Escape")
    check.that("it goes with the view", f.page.value("byId('source').hidden"))
    check.equal("no complaint of the browser (source)", [f.complaints(), f.page.value("document.title.startsWith('app')")], [[], True])


def many_labels(browser):
    p = Profile([("samples", "count")])
    for i in range(1001):
        p.sample([p.frame("f")], [1], {"request": i, "kind": "even" if i % 2 == 0 else "odd"})
    p.write(os.path.join(WORK, "labels.pb"))
    flame("labels.pb", "-title", "many", "-threads", "-o", "labels.html")
    f = Flame(browser, "labels.html")
    check.that("a label of too many values is no filter, and that is said",
               "1 with more than 1000 values" in f.text("#summary") and "request" not in f.text("#filter"), f.text("#summary"))
    f.choose("#filter", "kind: odd")
    check.that("the others are", "total 500," in f.text("#status"), f.text("#status"))
    check.equal("threads as roots; the title that was asked for", [f.names(1), f.text("h1")], [["(no thread)"], "many"])


def picture(browser):
    f = Flame(browser, "mix.svg")
    titles = f.page.value("[...document.querySelectorAll('title')].map(t => t.textContent)")
    check.that("the picture has a title for every frame", any(t.startswith("longest_match\ntotal 200 ms (20.00 %)") for t in titles), ascii(titles))
    check.that("markup stays text there too", any(t.startswith(EVIL) for t in titles), ascii(titles))
    texts = f.page.value("[...document.querySelectorAll('text')].map(t => t.textContent)")
    check.that("the names are there", "longest_match" in texts and "ksys_write" in texts, texts)
    wide = f.page.value("""[...document.querySelectorAll('g')].filter(g => g.querySelector('text')).filter(g =>
        g.querySelector('text').getBBox().width > Number(g.querySelector('rect').getAttribute('width')) + 1).map(g => g.textContent)""")
    check.equal("every text fits its frame", wide, [])
    check.that("no complaint of the browser (svg)", not f.complaints(), f.complaints())


def main():
    make_mix(os.path.join(WORK, "mix.pb"))
    flame("mix.pb", "-o", "mix.html")
    flame("mix.pb", "-o", "mix.svg")
    with Browser() as browser:
        f = Flame(browser, "mix.html")
        f.shot("light.png")
        for part in (see_and_zoom, ruler, tooltip, tip_beside_children, search, views, panels_in_place, keyboard, colours, names, short_names, marks, hostile):
            part(f)
        check.equal("no complaint of the browser", f.complaints(), [])
        check.equal("nothing but the page was asked for", [u for u in f.page.requests if not u.startswith("file://")], [])
        check.equal("one request", len(f.page.requests), 1)
        fine = Flame(browser, "mix.html", scale=2)
        check.equal("as many pixels as the screen has", fine.page.value("byId('graph').width"), 2560)
        narrow = Flame(browser, "mix.html", width=420, height=700)
        check.that("a narrow window needs no sideways scrolling", narrow.page.value("document.documentElement.scrollWidth") <= 420)
        runtime(browser)
        source(browser)
        many_labels(browser)
        picture(browser)
    return check.finish()


sys.exit(main())
