# SPDX-License-Identifier: BSD-3-Clause
"""`cprof diff`: the table, the gate, the statistics. Prints TAP.

diff.py CPROF WORK-DIRECTORY
"""
import json
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from flame_mix import Checks, make_mix  # noqa: E402
from pprof_build import Profile  # noqa: E402

CPROF, WORK = sys.argv[1:3]
MS = 10**6
check = Checks()


def make(name, functions, types=(("samples", "count"), ("cpu", "nanoseconds"))):
    """FUNCTIONS: name to samples of 10 ms, all called by main; of "a > b" each calls the next."""
    p = Profile(list(types))
    for path, n in functions.items():
        stack = [p.frame(part) for part in ["main", *path.split(" > ")]]
        p.sample(stack[::-1], [n, n * 10 * MS][: len(types)])
    p.write(os.path.join(WORK, name))


def diff(*arguments, status=0, all_changes=True):
    done = subprocess.run([CPROF, "diff", *["-all"][: all_changes], *arguments], cwd=WORK, capture_output=True, text=True)
    check.that(f"exit status {status}: diff {' '.join(arguments)}", done.returncode == status, done.returncode, done.stdout, done.stderr)
    return re.sub(r"([0-9]) (ns|ms|s|kB|MB)\b", r"\1\2", done.stdout), done.stderr


def table():
    make("a.pb", {"work": 50, "work > deep": 30, "gone": 10, "same": 10})
    make("b.pb", {"work": 55, "work > deep": 33, "new": 12, "same": 10})
    out, _ = diff("a.pb", "b.pb")
    check.that("the total", ["1s", "1.10s", "+0.10s", "+10.0%", "total"] == out.splitlines()[2].split(), out)
    flat, cum = out.split("all functions, total with callees")
    mine, flat = flat.split("all functions, own value")
    check.that("nothing is said twice: all code is your own", "your code" not in mine, mine)
    check.that("own values, the largest change first", [line.split()[-1] for line in flat.splitlines()[1:5]] == ["new", "gone", "work", "deep"], flat)
    check.that("0 -> N in samples", "0 -> 12 samples" in flat and "10 -> 0 samples" in flat, flat)
    check.that("with callees", ["0.80s", "0.88s", "+0.08s", "+10.0%", "chance?", "work"] in [line.split() for line in cum.splitlines()], cum)
    check.that("what didn't change isn't shown", "same" not in out, out)
    out, _ = diff("-ignore=^(new|gone)$", "a.pb", "b.pb")
    check.that("ignored functions aren't shown", "new" not in out and "gone" not in out, out)
    out, _ = diff("-min=20%", "a.pb", "b.pb")
    check.that("nor are small ones", "new" not in out and "deep" in out, out)
    out, _ = diff("-sample_index=samples", "a.pb", "b.pb")
    check.that("another value", "samples, 1 file before" in out and ["100", "110"] == out.splitlines()[2].split()[:2], out)
    out, _ = diff("-normalize", "a.pb", "b.pb")
    check.that("scaled to equal totals", "+0.0%  total" in out and ["0.30s", "0s"] not in [line.split()[:2] for line in out.splitlines()], out)
    out, _ = diff("a.pb", "a.pb")
    check.that("nothing differs from itself", "+0.0%  total" in out and "deep" not in out, out)


def columns(out):
    """Where names begin, in rows of tables."""
    return {len(line) - len(line.split("  ")[-1]) for line in out.splitlines() if re.search(r"[0-9]s +[+-]", line)}


def own_code():
    """The program calls a library, which calls back; the same in both files but for what deflate costs."""
    for name, n in (("own1.pb", 400), ("own2.pb", 800)):
        p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
        exe, lib = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libz.so.1.2")
        main, pack, load = (p.frame(f, mapping=exe) for f in ("main", "pack", "load"))
        deflate, hash = (p.frame(f, mapping=lib) for f in ("deflate", "hash"))
        p.sample([hash, deflate, pack, main], [n, n * 10 * MS])
        p.sample([deflate, pack, main], [100, 1000 * MS])
        p.sample([load, main], [100, 1000 * MS])
        p.write(os.path.join(WORK, name))
    out, _ = diff("own1.pb", "own2.pb")
    first = out.split("all functions, own value")[0].splitlines()
    check.that("your code comes first, with what it calls", first[4].startswith("your code") and first[5].split() == ["5s", "9s", "+4s", "+80.0%", "pack"], out)
    check.that("names stand in one column", len(columns(out)) == 1, out)
    out, _ = diff("-own=deflate|libz", "own1.pb", "own2.pb")
    check.that("-own says otherwise", out.splitlines()[5].split()[-1] == "hash", out)
    out, _ = diff("-own=", "own1.pb", "own2.pb")
    check.that("-own= leaves it out", "your code" not in out and "hash" in out, out)
    _, said = diff("-own=(", "own1.pb", "own2.pb", status=2)
    check.that("-own is no expression", "own" in said, said)
    out, _ = diff("-json", "own1.pb", "own2.pb")
    rows = {row["name"]: row["own"]["change"] for row in json.loads(out)["functions"]}
    check.equal("JSON: your code", rows, {"main": 0, "pack": 4000 * MS, "load": 0, "deflate": 0, "hash": 0})
    out, _ = diff("-markdown", "own1.pb", "own2.pb")
    check.that("Markdown: your code", "**Your code, with the libraries that it calls**" in out, out)


def chance():
    make("c100.pb", {"work": 100, "same": 900})
    for n, wanted in ((140, True), (143, True), (150, False), (60, False), (64, True)):
        make(f"c{n}.pb", {"work": n, "same": 900})
        out, _ = diff("c100.pb", f"c{n}.pb")
        row = next(line for line in out.splitlines() if line.endswith(" work"))
        check.that(f"100 and {n} samples: by chance {wanted}", ("chance?" in row) == wanted, out)
        for text in ("the sampling alone may differ as much", "cprof diff BEFORE... -- AFTER..."):
            check.that(f"100 and {n} samples: what that means", (text in out) == ("chance?" in row), out)
        check.that("the total is known", "chance?" not in out.splitlines()[2], out)
        out, _ = diff("-sample_index=samples", "c100.pb", f"c{n}.pb")
        check.that(f"counts of 100 and {n}: by chance {wanted}", ("chance?" in next(line for line in out.splitlines() if line.endswith(" work"))) == wanted, out)
    make("c8.pb", {"work": 100, "same": 900, "new": 8})
    make("c10.pb", {"work": 100, "same": 900, "new": 10})
    for n, wanted in ((8, True), (10, False)):
        out, _ = diff("-min=0%", "c100.pb", f"c{n}.pb")
        row = next(line for line in out.splitlines() if line.endswith(" new"))
        check.that(f"{n} samples of a new function: by chance {wanted}", ("chance?" in row) == wanted, out)
    heap, lock = (("alloc_space", "bytes"),), (("contentions", "count"), ("delay", "nanoseconds"))
    for n in (100, 110):
        make(f"h{n}.pb", {"work": n * MS}, heap)
        make(f"l{n}.pb", {"work": n}, lock)
    out, _ = diff("h100.pb", "h110.pb")
    check.that("bytes by the interval", "chance?" in out, out)
    out, _ = diff("-sample_index=contentions", "l100.pb", "l110.pb")
    check.that("how many waits a recorded one stands for isn't known", "chance?" not in out, out)
    out, _ = diff("c100.pb,c100.pb", "c140.pb,c143.pb")
    check.that("with several files p says it", "chance?" not in out and "p: Welch" in out, out)
    diff("-fail-over=3%", "c100.pb", "c140.pb", status=1)


def on_a_terminal():
    """Rows are no longer than the terminal is wide."""
    import pty
    long = "outer_namespace::" * 6 + "function"
    make("t1.pb", {long: 100, "std::vector<" + "int, " * 40 + "int>::push_back": 50})
    make("t2.pb", {long: 200, "std::vector<" + "int, " * 40 + "int>::push_back": 150})
    for width in (60, 80, 132):
        ours, theirs = pty.openpty()
        env = dict(os.environ, COLUMNS=str(width), CPROF_PAGER="cat", NO_COLOR="1")
        with subprocess.Popen([CPROF, "diff", "t1.pb", "t2.pb"], cwd=WORK, stdout=theirs, env=env) as child:
            os.close(theirs)
            out = b""
            try:
                while part := os.read(ours, 65536):
                    out += part
            except OSError:
                pass
            child.wait()
        os.close(ours)
        out = out.decode()
        check.that(f"on {width} columns no row is longer", all(len(line.rstrip()) <= width for line in out.splitlines()), out)
        check.that(f"on {width} columns names are there", "function" in out and "push_back" in out, out)


def gate():
    diff("-fail-over=5%", "a.pb", "b.pb", status=1)
    diff("-fail-over=0.05", "a.pb", "b.pb", status=1)
    diff("-fail-over=10.1%", "a.pb", "b.pb")
    diff("-fail-over=0%", "a.pb", "a.pb")
    diff("-fail-over=5%", "b.pb", "a.pb")
    out, _ = diff("-fail-over=9%", "-scope=function", "a.pb", "b.pb", status=1)
    check.that("what regressed is named, growth by chance is not", out.count("REGRESSION\n") == 1 and "1 function above the limit of +9%; 2 more may be chance (of 5)" in out, out)
    out, _ = diff("-fail-over=9%", "-scope=function", "-ignore=new", "a.pb", "b.pb")
    check.that("growth by chance alone", "undecided: 0 functions above the limit of +9%; 2 more may be chance" in out, out)
    diff("-fail-over=15%", "-scope=function", "-ignore=new", "a.pb", "b.pb")
    out, _ = diff("-fail-over=15%", "-scope=function", "a.pb", "b.pb", status=1)
    check.that("what is new regressed", "1 function above" in out, out)
    diff("-fail-over=15%", "-scope=function", "-min=11%", "a.pb", "b.pb")
    diff("-fail-over=9%", "-scope=function", "-cum", "-ignore=^(new|deep|work)$", "a.pb", "b.pb", status=1)
    diff("-normalize", "-scope=function", "-fail-over=5%", "a.pb", "b.pb", status=1)


def inlines():
    """The same work: once with names only, once with lines and inlined calls, in a program and in a library."""
    for name, full in (("names.pb", False), ("full.pb", True)):
        p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
        exe, lib, bare = p.mapping("/old/app" if full else "/new/app"), p.mapping("/usr/lib/libz.so.1.2"), p.mapping("/usr/lib/libbare.so")
        main = [("main", "/src/a.c" if full else "", 5 if full else 0, 0)]
        work = [("mix", "/src/a.c", 7, 0), ("burn", "/src/a.c", 9, 0)] if full else [("burn", "", 0, 0)]
        deflate = [("hash", "/src/z.c", 7, 0), ("deflate", "/src/z.c", 9, 0)] if full else [("deflate", "", 0, 0)]
        same = [("inner", "/src/b.c", 3, 0), ("outer", "/src/b.c", 4, 0)]
        root = p.location(main, exe)
        for lines, module, n in ((work, exe, 60), (deflate, lib, 30), (same, bare, 10)):
            p.sample([p.location(lines, module), root], [n, n * 10 * MS])
        p.write(os.path.join(WORK, name))
    out, said = diff("-fail-over=5%", "-scope=function", "names.pb", "full.pb")
    check.that("names against inlined calls: nothing regressed", "fine: 0 functions" in out and "mix" not in out and "hash" not in out, out)
    check.that("names against inlined calls: it is said", "names.pb has names only" in said and "cprof symbolize" in said, said)
    check.that("once", said.count("\n") == 1, said)
    out, said = diff("-json", "names.pb", "full.pb")
    names = [row["name"] for row in json.loads(out)["functions"]]
    check.that("modules of which both have inlined calls keep them", "inner" in names and "deflate" in names and "hash" not in names, names)
    out, said = diff("-json", "full.pb", "full.pb")
    check.that("two with inlined calls keep them all", "hash" in out and "mix" in out and not said, out, said)


def order():
    a, _ = diff("-fail-over=9%", "-scope=function", "a.pb", "b.pb", status=1)
    for arguments in (("a.pb", "b.pb", "-fail-over=9%", "-scope", "function"), ("a.pb", "-fail-over=9%", "b.pb", "-scope=function"),
                      ("a.pb", "--", "b.pb", "-fail-over=9%", "-scope=function")):
        b, _ = diff(*arguments, status=1)
        check.equal("options may stand anywhere: " + " ".join(arguments), b, a)
    _, said = diff(*["a.pb"] * 3, *["b.pb"] * 3, status=2)
    check.that("six files: how to say which side", "diff BEFORE... -- AFTER..." in said and "a.pb,a.pb,a.pb b.pb,b.pb,b.pb" in said, said)


def errors():
    make("empty.pb", {})
    make("zero.pb", {"f": 0})
    make("below.pb", {"f": 5, "g": -1})
    make("heap.pb", {"f": 5}, (("alloc_space", "bytes"),))
    for arguments, wanted in ((("a.pb", "empty.pb"), "empty.pb holds no samples"), (("zero.pb", "a.pb"), "zero.pb holds no samples"),
                              (("a.pb", "below.pb"), "below zero"), (("a.pb", "heap.pb"), "can't be compared"),
                              (("a.pb",), "two sides"), (("a.pb", "b.pb", "a.pb"), "two sides"), (("a.pb", "missing.pb"), "missing.pb"),
                              (("-fail-over=nan", "a.pb", "b.pb"), "no share"), (("-fail-over=inf%", "a.pb", "b.pb"), "no share"),
                              (("-fail-over=5", "a.pb", "b.pb"), "write 5%"), (("-fail-over=-1%", "a.pb", "b.pb"), "no share"),
                              (("-ignore=(", "a.pb", "b.pb"), "ignore"), (("-scope=x", "a.pb", "b.pb"), "neither total nor"),
                              (("-normalize", "-fail-over=1%", "a.pb", "b.pb"), "-scope=function"), (("a.pb", "--"), "no profile")):
        _, said = diff(*arguments, status=2)
        check.that("said: " + wanted, wanted in said, said)


def siblings():
    """A launcher has no samples; the process that it started has."""
    for pid, time in ((4343, 1700000000), (99, 1600000000)):
        p = Profile([("samples", "count"), ("cpu", "nanoseconds")], time=time * 10**9)
        p.sample([p.frame("work")], [pid, pid * 10 * MS])
        p.write(os.path.join(WORK, f"empty.pb.{pid}"))
    _, said = diff("a.pb", "empty.pb", status=2)
    check.that("where the samples are; a file of an earlier run is not named", said.endswith("hint: a process that the profiled one started wrote empty.pb.4343\n"), said)
    for pid in range(100, 103):
        make(f"empty.pb.{pid}", {"work": 1})
    for other in ("empty.pb.old", "empty.pb.12x"):
        make(other, {"work": 10**6})
    _, said = diff("a.pb", "empty.pb", status=2)
    check.that("several", re.search(r"processes that the profiled one started wrote empty\.pb\.\d+ and 3 more; one file of all: cprof merge -children -o ALL\.pb empty\.pb\n", said), said)
    os.utime(os.path.join(WORK, "empty.pb.4343"), (1650000000, 1650000000))
    _, said = diff("a.pb", "empty.pb", status=2)
    check.that("a file that is older than the run is not looked at", "and 2 more" in said and "4343" not in said, said)


def t_test(a, b):
    """Welch's by the numbers themselves: Student's density, integrated by Simpson's rule."""
    means = [sum(x) / len(x) for x in (a, b)]
    u, v = (sum((i - m) ** 2 for i in x) / (len(x) - 1) / len(x) for x, m in zip((a, b), means))
    t = abs(means[1] - means[0]) / math.sqrt(u + v)
    n = (u + v) ** 2 / (u * u / (len(a) - 1) + v * v / (len(b) - 1))
    scale = math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2)) / math.sqrt(n * math.pi)

    def density(x):
        return scale * (1 + x * x / n) ** (-(n + 1) / 2)

    steps, h = 20000, t / 20000
    area = sum((4 if i % 2 else 2) * density(i * h) for i in range(1, steps)) + density(0) + density(t)
    return 1 - 2 * area * h / 3


def statistics():
    cases = (([100, 104, 98], [103, 99, 105]), ([100, 101, 99], [120, 122, 119]), ([100, 130, 90, 80, 105], [125, 121]))
    for case, (a, b) in enumerate(cases):
        names = []
        for side, values in (("x", a), ("y", b)):
            names.append([f"{side}{case}{i}.pb" for i in range(len(values))])
            for name, n in zip(names[-1], values):
                make(name, {"work": n})
        out, _ = diff("-json", ",".join(names[0]), ",".join(names[1]))
        total = json.loads(out)["total"]
        check.that("p is Welch's", abs(total["p"] - t_test(a, b)) < 1e-6, total["p"], t_test(a, b))
        other, _ = diff("-json", *names[0], "--", *names[1])
        check.equal("A... -- B... is the same", other, out)
        other, _ = diff("-json", *[f"-base={n}" for n in names[0]], *names[1])
        check.equal("-base=A B... is the same", other, out)
        significant = total["p"] < 0.05 and total["ratio"] > 1.01
        diff("-fail-over=1%", ",".join(names[0]), ",".join(names[1]), status=1 if significant else 0)
    out, _ = diff("x10.pb,x11.pb,x12.pb", "y10.pb,y11.pb,y12.pb")
    check.that("mean and spread are shown", "1s \u00b11%" in out and "Welch" in out, out)
    out, _ = diff("-alpha=0.00001", "-fail-over=1%", "x10.pb,x11.pb,x12.pb", "y10.pb,y11.pb,y12.pb")
    check.that("growth by chance is called so", "undecided: total +20.3%, above the limit of +1%, but within chance (p = " in out, out)
    out, _ = diff("-alpha=0.00001", "-fail-over=1%", "-json", "x10.pb,x11.pb,x12.pb", "y10.pb,y11.pb,y12.pb")
    data = json.loads(out)
    check.equal("JSON: growth by chance", [data["verdict"], data["regressed"]], ["undecided", False])


def telling():
    """The growth that runs tell: with that much more, p is alpha."""
    def side(name, values):
        for i, n in enumerate(values):
            make(f"{name}{i}.pb", {"work": n})
        return ",".join(f"{name}{i}.pb" for i in range(len(values)))
    a, b = [1000, 1300, 900, 1200], [1100, 1400, 1000, 1250]
    out, _ = diff("-fail-over=1%", side("s", a), side("t", b))
    told = float(re.search(r"these runs can tell growth of \+([0-9.]+)% or more", out).group(1)) / 100
    more = [n + told * sum(a) / len(a) - (sum(b) - sum(a)) / len(a) for n in b]
    check.that("the growth that these runs tell", abs(t_test(a, more) - 0.05) < 0.001, told, t_test(a, more))


def coarse():
    """A function of few samples is no regression by one more; the total of a wall profile has no error by few samples."""
    for before, after, files in ((2, 3, 1), (2, 3, 3)):
        make("c1.pb", {"work": before})
        make("c2.pb", {"work": after})
        out, _ = diff("-scope=function", "-fail-over=5%", ",".join(["c1.pb"] * files), ",".join(["c2.pb"] * files), status=2)
        check.that("a function of two samples", "undecided: only 2 samples in a run before" in out, out)
        out, _ = diff("-json", "-scope=function", "-fail-over=5%", "c1.pb", "c2.pb", status=2)
        check.equal("JSON: too few", json.loads(out)["verdict"], "too few")
    make("n1.pb", {"work": 500, "rest": 500})
    make("n2.pb", {"work": 3, "rest": 2})
    out, _ = diff("-normalize", "-scope=function", "-fail-over=5%", ",".join(["n1.pb"] * 3), ",".join(["n2.pb"] * 3), status=2)
    check.that("scaled samples are no more of them", "undecided: only 5 samples in a run after" in out, out)
    for name, n in (("w1.pb", 10), ("w2.pb", 11)):
        p = Profile([("samples", "count"), ("wall", "nanoseconds")])
        p.sample([p.frame("work")], [n, n * 10 * MS])
        p.write(os.path.join(WORK, name))
    diff("-fail-over=5%", "w1.pb", "w1.pb")
    diff("-fail-over=5%", "w1.pb", "w2.pb", status=1)


def few():
    """Too few samples for the limit: neither fine nor a regression, unless more of them would change nothing."""
    for before, after, files, limit, status, wanted in (
            (2, 3, 3, "5%", 2, "undecided: only 2 samples in a run before: a limit of +5% needs 12 in each"),
            (2, 2, 3, "5%", 2, "only 2 samples in a run before"), (1, 1, 1, "5%", 2, "only 1 sample in a run before: a limit of +5% needs 20;"),
            (19, 19, 1, "5%", 2, "only 19 samples"), (20, 20, 1, "5%", 0, "fine: total +0.0%"), (2, 40, 1, "5%", 1, "REGRESSION: total +1900.0%"),
            (40, 2, 1, "5%", 0, "fine: total -95.0%"), (2, 2, 1, "50%", 0, "fine"), (3, 2, 1, "5%", 2, "only 3 samples"),
            (99, 99, 1, "0%", 2, "needs 100"), (100, 101, 1, "0%", 1, "REGRESSION")):
        make("f1.pb", {"work": before})
        make("f2.pb", {"work": after})
        out, _ = diff(f"-fail-over={limit}", ",".join(["f1.pb"] * files), ",".join(["f2.pb"] * files), status=status)
        check.that(f"{before} and {after} samples, {files} times: {wanted}", wanted in out, out)
        check.that("how to get more", ("CPROF_CPU_ENGINE=perf" in out) == (status == 2), out)
    out, _ = diff("-fail-over=5%", "h100.pb", "h110.pb", status=2)
    check.that("bytes: what sampling alone may change", "undecided: total +10.0%" in out and "sampling alone may change it by" in out, out)


def holm():
    """Twenty functions, of which chance raises one in every second comparison; and one that grew."""
    import random
    random.seed(7)
    names = [[f"{side}{i}.holm.pb" for i in range(6)] for side in "ab"]
    for side, files in enumerate(names):
        for name in files:
            make(name, {"grown": 300 + 200 * side + random.randrange(20), **{f"f{i:02}": 100 + random.randrange(40) for i in range(40)}})
    sides = ",".join(names[0]), ",".join(names[1])
    out, _ = diff("-json", "-scope=function", "-fail-over=5%", *sides, status=1)
    rows = json.loads(out)["functions"]
    check.equal("of many functions only the one that grew", [r["name"] for r in rows if r["regressed"]], ["grown"])
    check.that("though p alone would name more", any(r["flat"]["p"] < 0.05 and (r["flat"]["ratio"] or 0) > 1.05 and not r["regressed"] for r in rows), out)
    rest = sorted(r["flat"]["p"] for r in rows if r["flat"]["before"])
    check.that("Holm's rule", rest[0] < 0.05 / len(rest) and rest[1] >= 0.05 / (len(rest) - 1), rest[:3])


def summaries():
    out, _ = diff("-json", "-fail-over=9%", "-scope=function", "a.pb", "b.pb", status=1)
    data = json.loads(out)
    rows = {row["name"]: row for row in data["functions"]}
    check.equal("JSON: verdict", [data["regressed"], data["scope"], data["unit"], data["before"]], [True, "function", "nanoseconds", ["a.pb"]])
    check.equal("JSON: the verdict's word", data["verdict"], "regression")
    check.equal("JSON: rows", [rows["new"]["flat"]["before"], rows["new"]["flat"]["after"], rows["new"]["flat"]["ratio"], rows["new"]["regressed"], rows["work"]["regressed"]],
                [0, 120 * MS, None, True, False])
    make("evil.pb", {"a|b`<img src=x>`*": 10, "work": 50})
    out, _ = diff("-markdown", "-fail-over=5%", "evil.pb", "a.pb", status=1)
    check.that("Markdown: the verdict first", out.splitlines()[0].startswith("**REGRESSION: total +66.7%"), out)
    check.that("Markdown: names are no markup", "`` a\\|b`<img src=x>`* ``" in out and out.count("<") == 2, out)
    lines = [line for line in out.splitlines() if line.startswith("|")]
    check.that("Markdown: every row has its cells, without p, which needs several files", all(len(re.findall(r"(?<!\\)\|", line)) == 6 for line in lines), out)
    out = subprocess.run([CPROF, "diff", "-all", "-markdown", "a.pb", "b.pb"], cwd=WORK, capture_output=True, text=True).stdout
    rows = [line for line in out.splitlines() if line.startswith("|") and "`" in line]
    check.that("Markdown: names are as they are, in columns", any(line.endswith("| `work` |") for line in rows) and "&#" not in out
               and len({line.index("`") for line in rows}) == 1, out)


def beyond_chance():
    """What chance explains is only shown with -all, and the verdict comes first."""
    make("many1.pb", {"grows": 400, "shakes": 100, "main2": 500})
    make("many2.pb", {"grows": 800, "shakes": 104, "main2": 500})
    for name in ("text", "markdown"):
        form = [f"-{name}"] if name != "text" else []
        out, _ = diff(*form, "-fail-over=5%", "many1.pb", "many2.pb", status=1, all_changes=False)
        everything, _ = diff(*form, "-fail-over=5%", "many1.pb", "many2.pb", status=1)
        check.that(f"{name}: changes beyond chance", "grows" in out and "shakes" not in out, out)
        check.that(f"{name}: -all has all changes", "grows" in everything and "shakes" in everything, everything)
        check.that(f"{name}: the root of all stacks says what the total says", re.search(r"\bmain\b", everything) and not re.search(r"\bmain\b", out), out)
        check.that(f"{name}: the verdict first", out.strip("*").startswith("REGRESSION: total +40.4%"), out)
    out, _ = diff("-json", "-fail-over=5%", "many1.pb", "many2.pb", status=1, all_changes=False)
    check.equal("json: the verdict first", next(iter(json.loads(out))), "verdict")
    make("many3.pb", {"grows": 404, "shakes": 104, "main2": 492})
    out, _ = diff("-fail-over=5%", "many1.pb", "many3.pb", all_changes=False)
    check.that("no table without a row", "all functions" not in out and "no function changed by more than chance; -all shows" in out, out)
    out, _ = diff("-fail-over=1%", "-scope=function", "-alpha=0.9", "many1.pb", "many2.pb", status=1, all_changes=False)
    check.that("what fails the gate is shown", "REGRESSION" in [line for line in out.splitlines() if "grows" in line][0], out)


def as_top():
    make_mix(os.path.join(WORK, "mix.pb"))
    out, _ = diff("-json", "-min=0%", "mix.pb", "mix.pb")
    ours = {row["name"]: (row["flat"]["after"], row["cum"]["after"]) for row in json.loads(out)["functions"]}
    top = subprocess.run([CPROF, "top", "-json", "-nodecount=0", "mix.pb"], cwd=WORK, capture_output=True, text=True).stdout
    check.equal("values are those of cprof top", ours, {row["name"]: (row["flat"], row["cum"]) for row in json.loads(top)["rows"]})


for part in (table, own_code, chance, on_a_terminal, gate, inlines, order, errors, statistics, telling, coarse, few, holm, siblings, summaries, beyond_chance, as_top):
    part()
sys.exit(check.finish())
