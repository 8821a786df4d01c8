# SPDX-License-Identifier: BSD-3-Clause
"""The page of `cprof flame` as a user sees it. For scripts that are called as SCRIPT CPROF WORK-DIRECTORY MAKE-TIMES."""
import json
import os
import subprocess
import sys

from flame_mix import Checks

CPROF, WORK, MAKE_TIMES = sys.argv[1:4]
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


TABLE = "[...document.querySelectorAll('#table tbody tr')].map(r => r.innerText)"
