"""The page of `cprof flame` in a real browser, used as people use it. Prints TAP.

flame-page.py CPROF WORK-DIRECTORY
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chromium import Browser  # noqa: E402
from flame_mix import EVIL, Checks, make_mix  # noqa: E402
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
    f.choose("#type", "samples")
    check.that("another value", "total 100," in f.text("#status"), f.text("#status"))
    f.choose("#type", "alloc_space")
    check.that("values with their units", "total 400 KiB" in f.text("#status"), f.text("#status"))
    f.choose("#type", "cpu")
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
    f.push("#flip")
    check.that("the root at the bottom", f.frame("all")["y"] > f.frame("main")["y"] > 400)
    f.push("#flip")
    f.push("#functions")
    check.that("the table of functions", f.text("#table tbody tr").startswith("300 ms") and "inner" in f.text("#table tbody tr"), f.text("#table tbody tr"))
    f.push("#table tbody button")
    check.that("a function of the table is searched for", f.text("#found").startswith("60.0 %"), f.text("#found"))
    f.push("#functions")
    f.search("")
    f.page.value("byId('search').dispatchEvent(new Event('input'))")


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
    kinds = [f.colour(name) for name in ("ksys_write", "Interpreter::~run<int>", "[truncated]", "work")]
    check.that("kernel, JIT, cut stacks and code look different", len({tuple(k) for k in kinds}) == 4, kinds)
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
                for (let t = 0; t < 1; t += 0.0833)
                    backs.push(look.user(s, t));
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
    check.that("a comparison says the change", "+100 ms against 900 ms" in f.text("#status"), f.text("#status"))
    more, less, same = f.colour("inner"), f.colour("longest_match"), f.colour("ksys_write")
    check.that("more is red", more[0] > more[2] + 40, more)
    check.that("less is blue", less[2] > less[0] + 40, less)
    check.that("the same is grey", max(same) - min(same) < 12, same)
    box = f.frame("longest_match")
    f.page.move(box["x"], box["y"])
    check.that("the tooltip says both", "\u221250.0 ms against 250 ms" in f.text("#tip"), f.text("#tip"))
    f.choose("#width", "before")
    check.that("widths of the other side", abs(f.frame("ksys_write")["w"] / 1280 - 120 / 900) < 0.01, f.frame("ksys_write"))
    f.choose("#width", "after")
    f.choose("#compare", "shares")
    check.that("shares are compared", ", 0 ns against 1.00 s" in f.text("#status"), f.text("#status"))
    check.that("no complaint of the browser (diff)", not f.complaints(), f.complaints())
    f.shot("diff.png")


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
        for part in (see_and_zoom, tooltip, search, views, keyboard, colours, names, hostile):
            part(f)
        check.equal("no complaint of the browser", f.complaints(), [])
        check.equal("nothing but the page was asked for", [u for u in f.page.requests if not u.startswith("file://")], [])
        check.equal("one request", len(f.page.requests), 1)
        fine = Flame(browser, "mix.html", scale=2)
        check.equal("as many pixels as the screen has", fine.page.value("byId('graph').width"), 2560)
        narrow = Flame(browser, "mix.html", width=420, height=700)
        check.that("a narrow window needs no sideways scrolling", narrow.page.value("document.documentElement.scrollWidth") <= 420)
        differential(browser)
        many_labels(browser)
        picture(browser)
    return check.finish()


sys.exit(main())
