#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records of bench/ (see lib.sh) to JSON, tables, documents, and a verdict on the targets.

    report.py collect [--into OLD.json] RECORDS OUT.json
    report.py docs JSON TEMPLATE         the template with its tables filled in, on stdout
    report.py targets JSON TARGETS       a line each; exit status 1 if one is missed

With --into, parts that are in RECORDS take the place of the same parts of OLD.json, and figures that of the same figures.
Each part knows its machine (with the compiler and the packages there) and its commit: parts that were measured on
different machines can stand in one page, and the page says which is from where.

In a template, `{{value SELECTOR}}` is a median with its unit. A selector is what was measured, and tags:
`sample by=libcprof depth=30`. A line `{{table SELECTOR rows=KEY cols=KEY [show=quartiles] [only=A,B]}}` is a
table: a row for each value of one tag (without `rows`: one row), a column for each of another, in the order in which
they were measured.
"""
import json
import os
import re
import shlex
import subprocess
import sys


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        return (done.stdout or done.stderr).strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def first_line(text):
    return text.splitlines()[0] if text else ""


def packages():
    wanted = ["google-perftools", "libgoogle-perftools4", "heaptrack", "libjemalloc2", "linux-perf",
              "libmimalloc2.0", "libunwind8", "redis-server", "postgresql-15", "clang-14", "xz-utils", "libc6"]
    found = output_of("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n", *wanted)
    return {f[0]: f[1] for f in map(str.split, found.splitlines()) if len(f) == 3 and f[2] == "installed"}


def facts():
    cpu = memory = ""
    with open("/proc/cpuinfo") as f:
        cpu = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), "")
        virtual = "hypervisor" in open("/proc/cpuinfo").read()
    with open("/proc/meminfo") as f:
        memory = next(f).split()[1]
    paranoid = "/proc/sys/kernel/perf_event_paranoid"
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "virtual": virtual,
        "memory_gib": round(int(memory) / 2**20, 1),
        "kernel": os.uname().release,
        "machine": os.uname().machine,
        "tick_hz": tick(),
        "perf_event_paranoid": int(open(paranoid).read()) if os.path.exists(paranoid) else None,
        # All of CC: of "ccache gcc" the first word would name ccache.
        "compiler": first_line(output_of(*shlex.split(os.environ.get("CC") or "cc"), "--version")),
        "packages": packages(),
        "jemalloc_prof": jemalloc_prof(),
    }


def commit():
    return output_of("git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short=12", "HEAD")


def tick():
    path = f"/boot/config-{os.uname().release}"
    if os.path.exists(path):
        found = re.search(r"^CONFIG_HZ=(\d+)", open(path).read(), re.M)
        return int(found.group(1)) if found else None
    return None


def jemalloc_prof():
    """Whether the installed jemalloc could profile by itself; None: there is none."""
    import glob
    libraries = glob.glob("/usr/lib/*/libjemalloc.so.2")
    if not libraries:
        return None
    said = subprocess.run(["true"], env={"LD_PRELOAD": libraries[0], "MALLOC_CONF": "prof:true"},
                          capture_output=True, text=True).stderr
    return "Invalid conf" not in said


def read_records(path):
    parts, records, part = {}, [], ""
    with open(path) as f:
        for line in f:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "#part":
                part = fields[1]
                parts[part] = {"began": fields[2], "load": float(fields[3])}
                continue
            what, unit, median, low, high, n, tags = fields
            records.append({"part": part, "what": what, "tags": dict(t.split("=", 1) for t in tags.split()),
                            "unit": unit, "median": float(median), "q1": float(low), "q3": float(high), "n": int(n)})
    return parts, list(unique(records))


def key_of(record):
    return record["what"], tuple(sorted(record["tags"].items()))


def unique(records):
    """What was measured several times, as the bare run beside others is, counts where it was measured most."""
    best = {}
    for r in records:
        key = key_of(r)
        if key not in best or r["n"] > best[key]["n"]:
            best[key] = r
    return best.values()


def distinct(values):
    seen = []
    for v in values:
        if v not in seen:
            seen.append(v)
    return seen


def parts_of(data):
    """The parts of a JSON, each with its machine itself instead of its number."""
    return {k: {**v, "machine": data["machines"][v["machine"]]} for k, v in data["parts"].items()}


def collect(args):
    old = None
    if args[0] == "--into":
        old = json.load(open(args[1])) if os.path.exists(args[1]) else None
        args = args[2:]
    parts, records = read_records(args[0])
    here = {"machine": facts(), "commit": commit()}
    parts = {k: {**v, **here} for k, v in parts.items()}
    if old:
        new = {key_of(r) for r in records}
        records = [r for r in old["records"] if r["part"] not in parts and key_of(r) not in new] + records
        parts = {**parts_of(old), **parts}
    machines = distinct(p["machine"] for p in parts.values())
    parts = {k: {**v, "machine": machines.index(v["machine"])} for k, v in parts.items()}
    with open(args[1], "w") as f:
        json.dump({"machines": machines, "parts": parts, "records": records}, f, indent=None)
        f.write("\n")
    text = open(args[1]).read().replace('{"part"', '\n{"part"').replace('"records"', '\n"records"')
    open(args[1], "w").write(text)
    return 0


def parse(selector):
    words = selector.split()
    return words[0], dict(w.split("=", 1) for w in words[1:])


def select(data, what, tags):
    return [r for r in data["records"] if r["what"] == what and all(r["tags"].get(k) == v for k, v in tags.items())]


class Missing(Exception):
    pass


def one(data, selector):
    found = select(data, *parse(selector))
    if not found:
        raise Missing(selector)
    if len(found) > 1:
        raise SystemExit(f"report.py: {selector!r} is {len(found)} records")
    return found[0]


def number(v, signed=False):
    size = abs(v)
    digits = 0 if size >= 100 or v == 0 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    text = f"{v:+.{digits}f}" if signed else f"{v:.{digits}f}"
    return text.replace("-", "−")


def unit_of(record):
    return record["unit"].lstrip("+").replace("_", " ")


def cell(record, quartiles):
    if not record:
        return "–"
    signed = record["unit"].startswith("+")
    text = number(record["median"], signed)
    if quartiles:
        text += f" ({number(record['q1'], signed)} to {number(record['q3'], signed)})"
    return text


def values_of(records, key, only):
    seen = list(dict.fromkeys(r["tags"][key] for r in records if key in r["tags"]))
    return [v for v in only if v in seen] if only else seen


def table(data, words):
    what, tags = words[0], dict(w.split("=", 1) for w in words[1:])
    rows, cols, show = tags.pop("rows", ""), tags.pop("cols"), tags.pop("show", "")
    only_rows = tags.pop("only_rows", "").split(",") if "only_rows" in tags else None
    only_cols = tags.pop("only_cols", "").split(",") if "only_cols" in tags else None
    found = select(data, what, tags)
    if not found:
        return ["(not measured)"]
    names = values_of(found, cols, only_cols)
    lines = [[unit_of(found[0])] + [n.replace("_", " ") for n in names]]
    for row in values_of(found, rows, only_rows) if rows else [""]:
        mine = {r["tags"].get(cols): r for r in found if r["tags"].get(rows, "") == row}
        lines.append([row.replace("_", " ")] + [cell(mine.get(n), show == "quartiles") for n in names])
    width = [max(len(l[i]) for l in lines) for i in range(len(lines[0]))]
    out = ["| " + " | ".join(t.ljust(w) for t, w in zip(l, width)) + " |" for l in lines]
    out.insert(1, "|" + "|".join("-" * (w + 2) for w in width) + "|")
    return out


def machine_text(m):
    where = "a virtual machine" if m["virtual"] else "a machine"
    tick_text = f", kernel tick {m['tick_hz']} Hz" if m["tick_hz"] else ""
    return (f"{where} with {m['cores']} CPUs ({m['cpu']}), {m['memory_gib']} GiB, Linux {m['kernel']}{tick_text}, "
            f"{m['compiler']}")


def beside_text(machines):
    """The other profilers' versions; one that was not the same everywhere has several."""
    versions = {}
    for m in machines:
        for name, version in m["packages"].items():
            versions.setdefault(name, []).append(version)
    return "Beside: " + ", ".join(f"{k} {' and '.join(distinct(v))}" for k, v in sorted(versions.items())) + "."


def machine(data):
    machines, parts = data["machines"], data["parts"]
    texts = distinct(machine_text(m) for m in machines)
    several = len(texts) > 1
    letter = {text: chr(ord("A") + i) for i, text in enumerate(texts)}
    if several:
        lines = ["Measured on more than one machine; the table says which part is from where. Compare figures within a part, "
                 "not between parts of two machines.", ""]
        lines += [f"- {letter[text]}: {text}." for text in texts]
    else:
        lines = [f"Measured on {texts[0]}."]
    lines += ["", beside_text(machines)]
    if any(m["jemalloc_prof"] is False for m in machines):
        lines.append("This jemalloc is built without its profiler (`--enable-prof`), so it is no column here.")
    busy = [k for k, v in parts.items() if v["load"] > 2 * machines[v["machine"]]["cores"]]  # the parts before leave some
    if busy:
        lines += ["", f"**When {', '.join(busy)} began, the load was high: of the part before, or of other work, beside which figures say "
                      "little. `make bench-docs` on a quiet machine makes them anew.**"]
    title = ["part", "began", "load before it", "commit"] + ["machine"] * several
    lines += ["", "| " + " | ".join(title) + " |", "|---" * len(title) + "|"]
    for k, v in parts.items():
        cells = [k, v["began"], str(v["load"]), v["commit"] or "–"]
        lines.append("| " + " | ".join(cells + [letter[machine_text(machines[v["machine"]])]] * several) + " |")
    return lines


def value(data, selector):
    try:
        r = one(data, selector)
    except Missing:
        return "(not measured)"
    return f"{cell(r, False)} {unit_of(r)}"


def docs(args):
    data = json.load(open(args[0]))
    for line in open(args[1]).read().splitlines():
        whole = re.fullmatch(r"\{\{(table|machine)(.*)\}\}", line)
        if whole and whole.group(1) == "table":
            print("\n".join(table(data, whole.group(2).split())))
        elif whole:
            print("\n".join(machine(data)))
        else:
            print(re.sub(r"\{\{value ([^}]*)\}\}", lambda f: value(data, f.group(1)), line))
    return 0


RELATIONS = {"<=": lambda a, b, m: a <= b + m, ">=": lambda a, b, m: a >= b - m, "<": lambda a, b, m: a < b + m}


def targets(args):
    data = json.load(open(args[0]))
    scope = {"m": lambda s: one(data, s)["median"], "q1": lambda s: one(data, s)["q1"], "q3": lambda s: one(data, s)["q3"],
             "abs": abs, "max": max, "min": min}
    missed = unmeasured = 0
    for line in open(args[1]):
        if not line.strip() or line.startswith("#"):
            continue
        issue, text, expression, relation, limit, margin = (f.strip() for f in line.split("|"))
        try:
            got = eval(expression, {"__builtins__": {}}, scope)
            bound = eval(limit, {"__builtins__": {}}, scope)
            slack = bound * float(margin[:-1]) / 100 if margin.endswith("%") else float(margin)
        except Missing as e:
            unmeasured += 1
            print(f"not measured  issue {issue}: {text} ({e})")
            continue
        reached = RELATIONS[relation](got, bound, slack)
        missed += not reached
        print(f"{'reached' if reached else 'MISSED':<12}  issue {issue}: {text}: {number(got)} {relation} {number(bound)}"
              f" (margin {margin})")
    print(f"{missed} missed, {unmeasured} not measured")
    return 1 if missed else 0


def main():
    verbs = {"collect": collect, "docs": docs, "targets": targets}
    if len(sys.argv) < 4 or sys.argv[1] not in verbs:
        print(__doc__, file=sys.stderr)
        return 2
    return verbs[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
