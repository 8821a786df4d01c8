"""`cprof diff`: the table, the gate, the statistics. Prints TAP.

diff.py CPROF WORK-DIRECTORY
"""
import json
import math
import os
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


def diff(*arguments, status=0):
    done = subprocess.run([CPROF, "diff", *arguments], cwd=WORK, capture_output=True, text=True)
    check.that(f"exit status {status}: diff {' '.join(arguments)}", done.returncode == status, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def table():
    make("a.pb", {"work": 50, "work > deep": 30, "gone": 10, "same": 10})
    make("b.pb", {"work": 55, "work > deep": 33, "new": 12, "same": 10})
    out, _ = diff("a.pb", "b.pb")
    check.that("the total", ["1s", "1.10s", "+0.10s", "+10.0%", "total"] == out.splitlines()[2].split(), out)
    flat, cum = out.split("largest changes with callees")
    check.that("own values, the largest change first", [line.split()[-1] for line in flat.splitlines()[5:9]] == ["new", "gone", "work", "deep"], flat)
    check.that("0 -> N in samples", "0 -> 12 samples" in flat and "10 -> 0 samples" in flat, flat)
    check.that("with callees", "0.80s           0.88s      +0.08s           +10.0%  work" in cum, cum)
    check.that("what didn't change isn't shown", "same" not in out, out)
    out, _ = diff("-ignore=^(new|gone)$", "a.pb", "b.pb")
    check.that("ignored functions aren't shown", "new" not in out and "gone" not in out, out)
    out, _ = diff("-min=20%", "a.pb", "b.pb")
    check.that("nor are small ones", "new" not in out and "deep" in out, out)
    out, _ = diff("-sample_index=samples", "a.pb", "b.pb")
    check.that("another value", "samples, 1 file before" in out and "100             110" in out, out)
    out, _ = diff("-normalize", "a.pb", "b.pb")
    check.that("scaled to equal totals", "+0.0%  total" in out and "0.30s              0s" not in out, out)
    out, _ = diff("a.pb", "a.pb")
    check.that("nothing differs from itself", "+0.0%  total" in out and "deep" not in out, out)


def gate():
    diff("-fail-over=5%", "a.pb", "b.pb", status=1)
    diff("-fail-over=0.05", "a.pb", "b.pb", status=1)
    diff("-fail-over=10.1%", "a.pb", "b.pb")
    diff("-fail-over=0%", "a.pb", "a.pb")
    diff("-fail-over=5%", "b.pb", "a.pb")
    out, _ = diff("-fail-over=9%", "-scope=function", "a.pb", "b.pb", status=1)
    check.that("what regressed is named", out.count("REGRESSION\n") == 3 and "3 functions above the limit of +9%" in out, out)
    diff("-fail-over=15%", "-scope=function", "-ignore=new", "a.pb", "b.pb")
    out, _ = diff("-fail-over=15%", "-scope=function", "a.pb", "b.pb", status=1)
    check.that("what is new regressed", "1 function above" in out, out)
    diff("-fail-over=15%", "-scope=function", "-min=11%", "a.pb", "b.pb")
    diff("-fail-over=9%", "-scope=function", "-cum", "-ignore=^(new|deep|work)$", "a.pb", "b.pb", status=1)
    diff("-normalize", "-scope=function", "-fail-over=5%", "a.pb", "b.pb", status=1)


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
    check.that("growth by chance is called so", "fine: total +20.3%, above the limit of +1%, but within chance (p = " in out, out)


def summaries():
    out, _ = diff("-json", "-fail-over=9%", "-scope=function", "a.pb", "b.pb", status=1)
    data = json.loads(out)
    rows = {row["name"]: row for row in data["functions"]}
    check.equal("JSON: verdict", [data["regressed"], data["scope"], data["unit"], data["before"]], [True, "function", "nanoseconds", ["a.pb"]])
    check.equal("JSON: rows", [rows["new"]["flat"]["before"], rows["new"]["flat"]["after"], rows["new"]["flat"]["ratio"], rows["work"]["regressed"]],
                [0, 120 * MS, None, True])
    make("evil.pb", {"a|b`<img src=x>`*": 10, "work": 50})
    out, _ = diff("-markdown", "-fail-over=5%", "evil.pb", "a.pb", status=1)
    check.that("Markdown: the verdict first", out.splitlines()[2].startswith("**REGRESSION: total +66.7%"), out)
    check.that("Markdown: names are no markup", "a&#124;b&#96;&#60;img src=x&#62;&#96;&#42;" in out and "<" not in out, out)
    lines = [line for line in out.splitlines() if line.startswith("|")]
    check.that("Markdown: every row has its cells", all(line.count("|") == 7 for line in lines), out)


def as_top():
    make_mix(os.path.join(WORK, "mix.pb"))
    out, _ = diff("-json", "-min=0%", "mix.pb", "mix.pb")
    ours = {row["name"]: (row["flat"]["after"], row["cum"]["after"]) for row in json.loads(out)["functions"]}
    top = subprocess.run([CPROF, "top", "-json", "-nodecount=0", "mix.pb"], cwd=WORK, capture_output=True, text=True).stdout
    check.equal("values are those of cprof top", ours, {row["name"]: (row["flat"], row["cum"]) for row in json.loads(top)["rows"]})


for part in (table, gate, errors, statistics, summaries, as_top):
    part()
sys.exit(check.finish())
