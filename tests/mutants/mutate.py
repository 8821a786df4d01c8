#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the tables of mutants (tests/mutants/*.txt), and takes out of the sources what one of them names.

    mutate.py TREE fields         NAME, KEY and VALUE of every mutant, separated by tabs; a test is a path
    mutate.py TREE check          complains of every mutant that doesn't fit the sources any more
    mutate.py TREE apply NAME     changes the sources in TREE, and prints the paths of the changed files

run.sh and tests/checks/mutants.sh call this. CONTRIBUTING.md describes a table.
"""
import os
import re
import sys
from functools import lru_cache

# Where functions and macros are looked for.
SOURCES = "include", "lib", "preload", "tools"
KEYS = "Test", "Runs", "Seconds", "Build", "Make"
TESTS = "Test", "Build"
WORDS = re.compile(r"\w+|\S")
# In C, a comment or a line's continuation is no word.
C_WORDS = re.compile(r"""
    (?P<blank> /\*.*?\*/ | //[^\n]* | \\\n )
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \w+
    | -> | \+\+ | -- | && | \|\| | <<=? | >>=? | [-+*/%&|^!=<>]= | \S""", re.X | re.S)
FUNCTION = re.compile(r"^[A-Za-z_][^;{}#(]*\([^;{}#]*\n\{\n.*?^\}", re.M | re.S)
MACRO = re.compile(r"^#[ \t]*define[ \t]+(\w+)(?:[^\n]*\\\n)*[^\n]*", re.M)


class Problem(Exception):
    pass


class Mutant:
    def __init__(self, table, line, name):
        self.at = f"{table}:{line}"
        self.name = name
        self.fields = []   # (key, value)
        self.changes = []  # (where, old lines, new lines)


# ---- tables ----
def read_text_line(mutant, sign, text):
    if not mutant.changes:
        raise Problem(f"{mutant.name}: text without an \"In:\" before it")
    where, _, new = mutant.changes[-1]
    # Old text after new text begins another change in the same place.
    if sign == "-" and new:
        mutant.changes.append((where, [], []))
    mutant.changes[-1][1 if sign == "-" else 2].append(text.removeprefix(" "))


def read_table(path, mutants):
    table = os.path.basename(path)
    mutant = None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        key, colon, value = line.partition(": ")
        if not line.strip():
            mutant = None
        elif line[0] == "#":
            pass
        elif key == "Mutant" and colon:
            name, colon, without = value.partition(": ")
            if name in mutants:
                raise Problem(f"{table}:{number}: {name} is also in {mutants[name].at}")
            if not colon:
                raise Problem(f"{table}:{number}: {name} doesn't say which protection is missing")
            mutant = mutants[name] = Mutant(table, number, name)
            mutant.fields.append(("Without", without))
        elif mutant and line[0] in "-+":
            read_text_line(mutant, line[0], line[1:])
        elif mutant and key == "In" and colon:
            mutant.changes.append((value, [], []))
        elif mutant and key in KEYS and colon:
            mutant.fields.append((key, value))
            if key == "Test" and ": " in value:
                test, _, says = value.partition(": ")
                mutant.fields[-1:] = (key, test), (f"Says {test}", says)
        else:
            raise Problem(f"{table}:{number}: not a line of a mutant: {line}")


def read_tables(tree):
    mutants = {}
    folder = os.path.join(tree, "tests/mutants")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".txt"):
            read_table(os.path.join(folder, name), mutants)
    return mutants


# ---- sources ----
@lru_cache(None)
def files_below(tree, folder):
    return [os.path.relpath(os.path.join(at, name), tree)
            for at, _, names in os.walk(os.path.join(tree, folder)) for name in names]


@lru_cache(None)
def text_of(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as f:
        return f.read()


def function_name(head):
    """The last name before a parenthesis that is in no other parenthesis; else the first in one."""
    name, depth = None, 0
    for m in re.finditer(r"(\w*)\(|\)", head):
        if m[0] == ")":
            depth -= 1
            continue
        if depth == 0 and m[1] and m[1] != "__attribute__":
            name = m[1]
        depth += 1
    return name or re.search(r"(\w+)\(", head)[1]


def definitions_in(text):
    """Name, begin and end of each function and macro of a C source."""
    for m in FUNCTION.finditer(text):
        yield function_name(m[0].partition("\n{")[0]), m.start(), m.end()
    for m in MACRO.finditer(text):
        yield m[1], m.start(), m.end()


@lru_cache(None)
def all_definitions(tree):
    found = {}
    for path in sorted(p for folder in SOURCES for p in files_below(tree, folder)):
        if path.endswith((".c", ".h")):
            for name, begin, end in definitions_in(text_of(tree, path)):
                found.setdefault(name, []).append((path, begin, end))
    return found


def places(tree, where):
    """Path, begin and end of what "In: WHERE" names: FUNCTION, FUNCTION@FILE or the end of a file's path."""
    name, _, stem = where.partition("@")
    if "." in name:
        return [(path, 0, len(text_of(tree, path))) for folder in SOURCES + ("tests",)
                for path in files_below(tree, folder) if ("/" + path).endswith("/" + name)]
    return [place for place in all_definitions(tree).get(name, [])
            if not stem or os.path.basename(place[0]).partition(".")[0] == stem]


# ---- changes ----
def words_of(path, text):
    """The words in TEXT, and begin and end of each."""
    pattern = C_WORDS if path.endswith((".c", ".h")) else WORDS
    found = [m for m in pattern.finditer(text) if m.lastgroup != "blank"]
    return [m[0] for m in found], [m.span() for m in found]


def occurrences(tree, where, old):
    """Path, begin and end of OLD in each place that WHERE names."""
    found = []
    for path, begin, end in places(tree, where):
        words, spans = words_of(path, text_of(tree, path)[begin:end])
        wanted = words_of(path, old)[0]
        for n in range(len(words) - len(wanted) + 1):
            if words[n] == wanted[0] and words[n:n + len(wanted)] == wanted:
                found.append((path, begin + spans[n][0], begin + spans[n + len(wanted) - 1][1]))
    return found


def name_place(tree, place):
    path, begin, _ = place
    line = text_of(tree, path).count("\n", 0, begin) + 1
    return f"{path}:{line}"


def find_change(tree, mutant, where, old):
    if not places(tree, where):
        raise Problem(f"{mutant.name}: there is no function, macro or file {where}")
    if not old.split():
        raise Problem(f"{mutant.name}: blank old text in {where}")
    found = occurrences(tree, where, old)
    if not found:
        at = ", ".join(name_place(tree, p) for p in places(tree, where))
        raise Problem(f"{mutant.name}: {where} ({at}) doesn't have the text: {' '.join(old.split())}")
    if len(found) > 1:
        at = ", ".join(name_place(tree, p) for p in found)
        raise Problem(f"{mutant.name}: {where} has the text {len(found)} times ({at}): {' '.join(old.split())}")
    return found[0]


def changes_of(tree, mutant):
    """What a mutant replaces, from the end of each file to its beginning: path, begin, end, new text."""
    changes = sorted((*find_change(tree, mutant, where, "\n".join(old)), "\n".join(new))
                     for where, old, new in mutant.changes)
    for before, after in zip(changes, changes[1:]):
        if before[0] == after[0] and before[2] > after[1]:
            raise Problem(f"{mutant.name}: two changes of the same text at {name_place(tree, after[:3])}")
    return changes[::-1]


def apply(tree, mutant):
    texts = {}
    for path, begin, end, new in changes_of(tree, mutant):
        text = texts.get(path, text_of(tree, path))
        texts[path] = text[:begin] + new + text[end:]
    for path, text in texts.items():
        with open(os.path.join(tree, path), "w", encoding="utf-8") as f:
            f.write(text)
        print(path)


# ---- tests ----
def test_path(tree, name):
    """The script that NAME names, or the program, as make calls it; of libraries only libcprof.a needs to be named."""
    if name == "libcprof.a":
        return name
    ends = [f"/{name}.sh", f"/traps/{name.removeprefix('trap_')}/run.sh", f"/{name}.c"]
    found = sorted(p for p in files_below(tree, "tests") if ("/" + p).endswith(tuple(ends)))
    if len(found) != 1:
        raise Problem(f"there are {len(found)} tests {name}: {' '.join(found)}" if found
                      else f"there is no test {name}")
    return found[0].removesuffix(".c")


def print_fields(tree, mutants):
    for mutant in mutants.values():
        for key, value in mutant.fields:
            word, _, test = key.partition(" ")
            print(mutant.name, f"{word} {test_path(tree, test)}" if test else key,
                  test_path(tree, value) if key in TESTS else value, sep="\t")


def check(tree, mutant):
    keys = [key for key, _ in mutant.fields]
    if "Test" not in keys:
        raise Problem(f"{mutant.name}: no \"Test:\"")
    for key, value in mutant.fields:
        if key in TESTS:
            test_path(tree, value)
    if not mutant.changes and "Make" not in keys:
        raise Problem(f"{mutant.name}: it changes nothing")
    changes_of(tree, mutant)


def main(tree, action, *names):
    mutants = read_tables(tree)
    if action == "fields":
        print_fields(tree, mutants)
    elif action == "apply":
        for name in names:
            if name not in mutants:
                raise Problem(f"there is no mutant {name}")
            apply(tree, mutants[name])
    elif action == "check":
        failed = False
        for mutant in mutants.values():
            try:
                check(tree, mutant)
            except Problem as problem:
                print(f"tests/mutants/{mutant.at}: {problem}", file=sys.stderr)
                failed = True
        return failed
    else:
        raise Problem(f"unknown action {action}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except Problem as problem:
        sys.exit(f"mutants: {problem}")
