#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast the page of `cprof flame` opens and zooms: flame-page.py CPROF PROFILE [#tab=Time]

Milliseconds in headless Chromium, without a GPU: from the navigation until the graph is drawn; then,
over zooms into 40 frames and back, the work of an animation frame (layout and drawing), and what one
step of search, of the callers view and of another value takes. Of a profile with a time index, the same of the tab Time.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/lib"))
from chromium import Browser  # noqa: E402

ZOOMS = """(async () => {
    const flame = cprofFlame, work = [], between = [], real = requestAnimationFrame;
    let last = 0;
    window.requestAnimationFrame = call => real(now => {
        const start = performance.now();
        call(now);
        work.push(performance.now() - start);
        if (last)
            between.push(now - last);
        last = now;
    });
    const idle = () => new Promise(done => setTimeout(done, 260));
    for (let i = 0; i < 40; i++) {
        const row = flame.canvas.rows[3 + i % 7], node = row.node[(i * 13) % row.node.length];
        last = 0;
        flame.zoomTo(node > 0 ? node : row.node[0]);
        await idle();
        last = 0;
        flame.zoomTo(0);
        await idle();
    }
    window.requestAnimationFrame = real;
    return [work, between].map(list => list.sort((a, b) => a - b));
})()"""
ONCE = """(() => { const start = performance.now(); %s; cprofFlame.drawNow(); return performance.now() - start; })()"""


# Zooms in around one moment until events are seen one by one, and back.
TIME_ZOOMS = """new Promise(done => {
    const line = cprofFlame.timeline, work = [];
    const step = () => {
        const start = performance.now();
        line.zoom(700, work.length % 40 < 20 ? 1.3 : 1 / 1.3);
        cprofFlame.drawNow();
        work.push(performance.now() - start);
        if (work.length < 80)
            requestAnimationFrame(step);
        else
            done(work.sort((a, b) => a - b));
    };
    requestAnimationFrame(step);
})"""


def time_tab(browser, page_file):
    drawn = []
    for _ in range(5):
        page = browser.open(f"file://{page_file}#tab=Time")
        drawn.append(page.value("performance.getEntriesByName('cprof-time-drawn')[0].startTime"))
    print(f"Time drawn: median {sorted(drawn)[2]:.0f} ms of {[round(d) for d in drawn]}")
    frames = page.value(TIME_ZOOMS)
    print(f"Time, zoom, work of a frame: median {share(frames, 0.5):.1f}, p90 {share(frames, 0.9):.1f}, worst {frames[-1]:.1f} ms")
    print(f"Time, a window: {page.value(ONCE % 'cprofFlame.setWindow({ from: 1e9, to: 300e9 })'):.0f} ms")


def share(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def main():
    cprof, profile = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as work, Browser() as browser:
        page_file = os.path.join(work, "bench.html")
        subprocess.run([cprof, "flame", profile, "-o", page_file], check=True, stdout=subprocess.DEVNULL)
        print(f"page: {os.path.getsize(page_file) / 1e6:.1f} MB")
        if "#tab=Time" in sys.argv:
            time_tab(browser, page_file)
            return
        opened = []
        for _ in range(5):
            page = browser.open("file://" + page_file, still=False)
            opened.append(page.value("performance.getEntriesByName('cprof-drawn')[0].startTime"))
            first = page.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint (heading): {first:.0f} ms; graph drawn: median {sorted(opened)[2]:.0f} ms of {[round(o) for o in opened]}")
        print(f"tree: {page.value('cprofFlame.profile.nodes.count')} nodes")
        frames, between = page.value(ZOOMS)
        print(f"zoom, work of a frame: median {share(frames, 0.5):.1f}, p99 {share(frames, 0.99):.1f}, worst {frames[-1]:.1f} ms ({len(frames)} frames)")
        print(f"zoom, from frame to frame: median {share(between, 0.5):.1f}, p99 {share(between, 0.99):.1f} ms")
        for name, script in (("search", "cprofFlame.search('op_1')"), ("another value", "cprofFlame.type = 0; cprofFlame.rebuild([])"),
                             ("callers view", "cprofFlame.callers = true; cprofFlame.rebuild([])")):
            print(f"{name}: {page.value(ONCE % script):.0f} ms")


main()
