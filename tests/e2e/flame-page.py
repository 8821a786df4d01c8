# SPDX-License-Identifier: BSD-3-Clause
"""The page of `cprof flame` in a real browser, used as people use it. Prints TAP.

flame-page.py CPROF WORK-DIRECTORY
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chromium import Browser  # noqa: E402
from flame_mix import EVIL, MS, Checks, make_mix  # noqa: E402
from pprof_build import Profile  # noqa: E402

CPROF, WORK = sys.argv[1:3]
check = Checks()


def flame(*arguments):
    done = subprocess.run([CPROF, "flame", *arguments], cwd=WORK, capture_output=True, text=True)
    check.that("cprof flame " + " ".join(arguments), done.returncode == 0, done.stderr)
    return done


class Flame:
    """What a user sees and does, on top of the browser's page."""

    def __init__(self, browser, name, **how):
        self.page = browser.open("file://" + os.path.join(WORK, name), **how)

    def text(self, css):
        return self.page.value(f"document.querySelector({json.dumps(css)}).innerText")

    # { name, x, y, w } of each frame drawn, root first.
    def frames(self):
        return self.page.value("""(() => {
            const flame = cprofFlame, box = byId('graph').getBoundingClientRect(), all = [];
            flame.canvas.rows.forEach((row, r) => row.node.forEach((node, i) => { if (node >= 0) all.push({
                name: flame.nameOf(node), row: r, w: row.w[i], x: box.left + row.x[i] + row.w[i] / 2,
                y: box.top + flame.canvas.rowTop(r) + 9 }); }));
            return all; })()""")

    # The widest of that name.
    def frame(self, name):
        return max((f for f in self.frames() if f["name"] == name), key=lambda f: f["w"])

    def names(self, row):
        return [f["name"] for f in self.frames() if f["row"] == row]

    def click(self, name):
        frame = self.frame(name)
        self.page.click(frame["x"], frame["y"])

    def push(self, css):
        box = self.page.value(f"(b => [b.x + b.width / 2, b.y + b.height / 2])"
                              f"(document.querySelector({json.dumps(css)}).getBoundingClientRect())")
        self.page.click(*box)

    # A select as the keyboard leaves it: its value, then the event.
    def choose(self, css, label):
        self.page.value(f"""(() => {{ const list = document.querySelector({json.dumps(css)});
            const option = [...list.options].find(o => o.text.startsWith({json.dumps(label)}));
            list.value = option.value; list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()""")
        self.page.settle()

    def search(self, text):
        self.push("#search")
        self.page.value("document.querySelector('#search').value = ''")
        self.page.type(text)

    def pixel(self, x, y):
        return self.page.value(f"""(() => {{ const c = byId('graph'), b = c.getBoundingClientRect(), k = devicePixelRatio;
            return [...c.getContext('2d').getImageData(({x} - b.left) * k, ({y} - b.top) * k, 1, 1).data].slice(0, 3); }})()""")

    # Beside the text: the colour of the frame itself.
    def colour(self, name):
        frame = self.frame(name)
        return self.pixel(frame["x"] + frame["w"] / 2 - 3, frame["y"] - 7)

    # The name of the frame that keys act on.
    def focused(self):
        return self.page.value("cprofFlame.focus >= 0 ? cprofFlame.nameOf(cprofFlame.focus) : ''")

    def complaints(self):
        # About this test's own look at the canvas.
        return [c for c in self.page.complaints if "willReadFrequently" not in c]

    def shot(self, name):
        self.page.screenshot(os.path.join(WORK, name))


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
    check.that("a function of the table is searched for", f.text("#found").startswith("60.0 %"), f.text("#found"))
    f.push("#functions")
    f.search("")
    f.page.value("byId('search').dispatchEvent(new Event('input'))")


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
    check.that("the status says what is focused", f.text("#status").startswith("work: total 600 ms, 60.0 %; self 0 ns (/src/work.c:90, app)"), f.text("#status"))
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
            const backs = [look.mark(), look.root, look.match, look.same];
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
                         ("std::operator< <char, T>", ["operator< <char, T>"]), ("<T as core::fmt::Debug>::fmt", ["fmt"]),
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
    check.that("the picture has a title for every frame", any(t.startswith("longest_match\ntotal 200ms (20.00 %)") for t in titles), ascii(titles))
    check.that("markup stays text there too", any(t.startswith(EVIL) for t in titles), ascii(titles))
    texts = f.page.value("[...document.querySelectorAll('text')].map(t => t.textContent)")
    check.that("the names are there", "longest_match" in texts and "ksys_write" in texts, texts)
    wide = f.page.value("""[...document.querySelectorAll('g')].filter(g => g.querySelector('text')).filter(g =>
        g.querySelector('text').getBBox().width > Number(g.querySelector('rect').getAttribute('width')) + 1).map(g => g.textContent)""")
    check.equal("every text fits its frame", wide, [])
    check.that("no complaint of the browser (svg)", not f.complaints(), f.complaints())


def main():
    make_mix(os.path.join(WORK, "mix.pb"))
    make_mix(os.path.join(WORK, "base.pb"), inner=15, longest=25)
    flame("mix.pb", "-o", "mix.html")
    flame("mix.pb", "-base", "base.pb", "-o", "diff.html")
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
        differential(browser)
        two_builds(browser)
        tabs(browser)
        wakers(browser)
        address(browser)
        kinds(browser)
        phone(browser)
        many_labels(browser)
        picture(browser)
    return check.finish()


sys.exit(main())
