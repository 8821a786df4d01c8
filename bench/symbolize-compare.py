#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""For symbolize.sh: how many addresses have the same functions, inlined calls and lines in two outputs.

usage: symbolize-compare.py OURS THEIRS llvm|addr2line
"""
import os
import re
import sys


def plain(name):
    """Without what compilers put behind the names of parts of functions, and symbolize.sh behind all."""
    return re.sub(r"(\.(cold|isra|constprop|part|lto_priv|copy\d+)(\.\d+)*)+$", "", name)


def place(text, columns):
    text = re.sub(r" \(discriminator \d+\)$", "", text)
    parts = text.rsplit(":", 2 if columns else 1)
    line = parts[1] if parts[1] != "?" else "0"
    # addr2line shortens "a/../b", others don't.
    return os.path.normpath(parts[0]), line, parts[2] if columns and len(parts) > 2 else ""


def read(path, columns, theirs_without):
    """Address -> [(name, place)], innermost first."""
    answers, frames, name = {}, None, None
    for line in open(path, errors="replace"):
        line = line.rstrip("\n")
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames = answers.setdefault(int(line, 16), [])
            name = None
        elif not line or frames is None:
            continue
        elif name is None:
            name = plain(line)
        else:
            text = line.rsplit(":", 1)[0] if theirs_without and line.count(":") > 1 else line
            frames.append((name, place(text, columns)))
            name = None
    return answers


ours, theirs, kind = sys.argv[1:]
columns = kind == "llvm"
a, b = read(ours, columns, not columns), read(theirs, columns, False)
wrong = [x for x in a if a[x] != b.get(x)]
for x in wrong[:3]:
    print(f"  0x{x:x}\n    ours   {a[x]}"[:300] + f"\n    {kind:6} {b.get(x)}"[:300])
print(f"  the same as {kind}: {100 - 100 * len(wrong) / max(len(a), 1):.2f} % of {len(a)} addresses, "
      f"{sum(len(x) > 1 for x in a.values())} of them in inlined calls")
sys.exit(len(wrong) * 1000 > len(a))
