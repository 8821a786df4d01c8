# SPDX-License-Identifier: BSD-3-Clause
"""`cprof folded` and `cprof convert`, and what reads their output. Prints TAP.

flame-formats.py CPROF WORK-DIRECTORY
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from flame_mix import EVIL, MS, Checks, make_mix  # noqa: E402
from pprof_build import Profile  # noqa: E402

CPROF, WORK = sys.argv[1:3]
check = Checks()


def run(*command):
    done = subprocess.run(command, cwd=WORK, capture_output=True)
    done.text = done.stdout.decode(errors="replace")
    done.said = done.stderr.decode(errors="replace")
    return done


def cprof(*arguments):
    done = run(CPROF, *arguments)
    check.that("cprof " + " ".join(arguments), done.returncode == 0, done.said)
    return done.text


def folded():
    lines = cprof("folded", "mix.pb").rstrip("\n").split("\n")
    check.that("a line a stack, root first", "_start;main;work;middle;inner;deflate;longest_match 200000000" in lines, lines)
    check.equal("all of the profile", sum(int(line.rsplit(" ", 1)[1]) for line in lines), 1000 * MS)
    check.that("what parts frames is not in names", all(line.count(";") < 7 for line in lines), lines)
    counts = cprof("folded", "-sample_index=samples", "mix.pb").rstrip("\n").split("\n")
    check.that("another value", "_start;main;work;middle;inner 30" in counts, counts)
    threads = cprof("folded", "-threads", "mix.pb").rstrip("\n").split("\n")
    check.that("threads as roots", {line.split(";")[0] for line in threads} == {"main", "worker"}, threads)
    marked = cprof("folded", "-annotate", "mix.pb")
    check.that("marks of inlined, kernel and JIT frames",
               all(part in marked for part in ("work;middle_[i];inner_[i]", "ksys_write_[k];vfs_write_[k]", "~run<int>_[j]")), marked)
    focused = cprof("folded", "-focus=ksys", "mix.pb", "mix.pb")
    check.equal("filters, several files", focused, "_start;main;ksys_write;vfs_write 240000000\n")
    by_line = cprof("folded", "-lines", "mix.pb")
    check.that("frames by line", "main:12;work:101;middle:22;inner:7 " in by_line, by_line)
    by_address = cprof("folded", "-addresses", "mix.pb")
    check.that("frames by address", re.search(r"main 0x[0-9a-f]+;work 0x[0-9a-f]+", by_address), by_address)
    check.that("what has no name goes by its module, by its place as an address", "main;[libz.so.1] " in "\n".join(lines)
               and re.search(r";libz.so.1\+0x[0-9a-f]+ ", by_address))
    p = Profile([("samples", "count")])
    p.sample([p.frame("a;b\nc d")], [3])
    p.sample([], [2])
    p.sample([p.frame("less")], [-1])
    p.write(os.path.join(WORK, "odd.pb"))
    done = run(CPROF, "folded", "odd.pb")
    check.equal("odd names, no stack", done.text, "(no stack) 2\na:b c d 3\n")
    check.that("what is below zero is said", "1 samples below zero" in done.said, done.said)


# The parts of speedscope's file-format-schema.json that a sampled profile has.
def speedscope(*options):
    data = json.loads(cprof("convert", "-to=speedscope", *options, "mix.pb"))
    frames = data["shared"]["frames"]
    good = data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    good &= all(isinstance(f["name"], str) and set(f) <= {"name", "file", "line", "col"} for f in frames)
    for profile in data["profiles"]:
        good &= set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        good &= profile["type"] == "sampled" and len(profile["samples"]) == len(profile["weights"])
        good &= profile["endValue"] == sum(profile["weights"])
        good &= profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        good &= all(0 <= i < len(frames) for stack in profile["samples"] for i in stack)
    check.that("speedscope: as its schema wants", good and 0 <= data["activeProfileIndex"] < len(data["profiles"]), data)
    return data


def speedscopes():
    data = speedscope()
    names = [f["name"] for f in data["shared"]["frames"]]
    stacks = [";".join(names[i] for i in stack) for stack in data["profiles"][1]["samples"]]
    check.that("speedscope: stacks root first", "_start;main;work;middle;inner;deflate;longest_match" in stacks, stacks)
    check.equal("speedscope: a profile a value", [(p["name"], p["unit"], p["endValue"]) for p in data["profiles"]],
                [("samples", "none", 100), ("cpu", "nanoseconds", 1000 * MS), ("alloc_space", "bytes", 409600)])
    check.equal("speedscope: the default one is shown", data["activeProfileIndex"], 1)
    check.equal("speedscope: threads apart", [(p["name"], p["endValue"]) for p in speedscope("-threads")["profiles"]],
                [("cpu, main", 720 * MS), ("cpu, worker", 280 * MS)])


def callgrind():
    text = cprof("convert", "-to=callgrind", "mix.pb")
    with open(os.path.join(WORK, "callgrind.out"), "w") as f:
        f.write(text)
    check.that("callgrind: the default value first", "\nevents: cpu_ns samples alloc_space\n" in text, text[:300])
    if not shutil.which("callgrind_annotate"):
        check.skip("callgrind_annotate reads it", "valgrind is not installed")
        return
    flat = run("callgrind_annotate", "--threshold=100", "callgrind.out")
    check.that("callgrind_annotate reads it", flat.returncode == 0 and not flat.said, flat.said)
    check.that("callgrind: the totals", re.search(r"^1,000,000,000 .*PROGRAM TOTALS", flat.text, re.M), flat.text)
    check.that("callgrind: own cost", re.search(r"^250,000,000 \(25.00%\) .*/src/deflate.c:longest_match \[libz.so.1\]", flat.text, re.M), flat.text)
    check.that("callgrind: hostile names stay in their line", EVIL in flat.text, flat.text)
    deep = run("callgrind_annotate", "--threshold=100", "--inclusive=yes", "callgrind.out").text
    check.that("callgrind: cost with callees", re.search(r"^600,000,000 \(60.00%\) .*/src/work.c:work", deep, re.M), deep)
    p = Profile([("samples", "count")])
    a, b = p.frame("a", "/a.c", 1), p.frame("b", "/a.c", 2)
    p.sample([b, a, b, a, b, a], [5])
    p.write(os.path.join(WORK, "again.pb"))
    cprof("convert", "-to=callgrind", "again.pb", "-o", "again.out")
    deep = run("callgrind_annotate", "--threshold=100", "--inclusive=yes", "again.out").text
    check.that("callgrind: recursion counts a sample's edge once", re.search(r"^5 \(100.0%\).*PROGRAM TOTALS", deep, re.M)
               and not re.search(r"^\s*15 ", deep, re.M), deep)


def errors():
    for arguments, wanted in ((("convert", "mix.pb"), "-to=FORMAT is needed"), (("convert", "-to=x", "mix.pb"), "none of speedscope"),
                              (("folded", "-sample_index=x", "mix.pb"), "it has samples/count, cpu/nanoseconds"),
                              (("folded", "missing.pb"), "missing.pb"), (("folded", "-focus=(", "mix.pb"), "-focus"),
                              (("folded", "-tagfocus=thread=[bad", "mix.pb"), "-tagfocus"), (("flame", "mix.pb", "-o", "x.pdf"), "neither in .html"),
                              (("flame", "mix.pb", "-o", "/nowhere/x.html"), "/nowhere/x.html can't be written"),
                              (("flame", "mix.pb", "-base", "odd.pb"), "can't be compared"), (("folded",), "a profile is needed")):
        done = run(CPROF, *arguments)
        check.that("said: " + wanted, done.returncode == 2 and wanted in done.said, done.returncode, done.said)
    done = subprocess.run(f"'{CPROF}' folded mix.pb >/dev/full", shell=True, cwd=WORK, capture_output=True, text=True)
    check.that("a full disk is said", done.returncode == 2 and "No space left" in done.stderr, done.stderr)


def default_names():
    for name, wanted in (("mix.pb", "mix.html"), ("app.wall.pb.gz", "app.wall.html"), ("plain", "plain.html"), (".pb", ".pb.html")):
        shutil.copy(os.path.join(WORK, "mix.pb"), os.path.join(WORK, name)) if name != "mix.pb" else None
        check.that(f"{name} becomes {wanted}", wanted + ": open" in cprof("flame", name) and os.path.exists(os.path.join(WORK, wanted)))


make_mix(os.path.join(WORK, "mix.pb"))
for part in (folded, speedscopes, callgrind, default_names, errors):
    part()
sys.exit(check.finish())
