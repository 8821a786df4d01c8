# SPDX-License-Identifier: BSD-3-Clause
"""Compares the output that a document shows with what the commands print.

    documents.py check SHOWN PRINTED           exit status 1, and the lines that are nowhere in PRINTED
    documents.py update DOCUMENT N PRINTED     refreshes the "text" block after the Nth "sh" block
    documents.py rewrite DOCUMENT N PRINTED    takes the first lines of PRINTED instead, as many as are shown

A line is found if its words are there: numbers, and the names by which libc calls the variants of a function for
one processor, differ from run to run. "..." stands for any lines. A row that has few samples comes and goes, so
that one line in three may be missing: what is looked for is a command that prints something else by now.
"""
import re
import sys


def shape(line):
    line = re.sub(r"([0-9]) (ns|us|ms|s|h|B|kB|MB|GB|TB)\b", r"\1", line)
    line = re.sub(r"\(\s+", "(", line)
    line = re.sub(r"\b[0-9a-f]{40}\b", "0", line)
    line = re.sub(r"_(evex|evex512|avx2|avx2_rtm|avx512|sse2|sse42|ssse3|sse2_unaligned|erms)\b", "", line)
    return tuple("#" if re.match(r"[(+\-−]*[0-9]|\.$", word) else word for word in line.split())


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line.rstrip() for line in file]


def find(line, printed, used):
    for i, candidate in enumerate(printed):
        if i not in used and shape(candidate) == shape(line):
            used.add(i)
            return i
    return None


def refreshed(shown, printed):
    """The lines of SHOWN as PRINTED has them, in its order between one "..." and the next."""
    used, fresh, part = set(), [], []
    for line in shown + ["..."]:
        if line != "...":
            at = find(line, printed, used) if line else None
            part.append((part[-1][0] if at is None and part else at or 0, line if at is None else printed[at]))
            continue
        fresh += [text for _, text in sorted(part, key=lambda found: found[0])] + [line]
        part = []
    return fresh[:-1]


def check(shown, printed):
    used = set()
    shown = [line for line in shown if line.strip() not in ("", "...")]
    missing = [line for line in shown if find(line, printed, used) is None]
    for line in missing:
        print("shown, but not printed: " + line)
    return 1 if 3 * len(missing) > len(shown) else 0


def block_after(document, n):
    """First and last line, as indices, of the text block that follows the Nth sh block."""
    seen, language, start = 0, None, None
    for i, line in enumerate(document):
        if not line.startswith("```"):
            continue
        if language is None:
            language, start = line[3:] or "text", i + 1
            seen += language == "sh"
            if seen > n:
                break
        else:
            if language == "text" and seen == n:
                return start, i
            language = None
    raise SystemExit("no text block after sh block %d" % n)


def update(path, n, printed, whole):
    document = lines(path)
    start, end = block_after(document, n)
    shown = document[start:end]
    if whole:
        keep = [line for line in printed if line][: len(shown)]
        fresh = keep[:-1] + ["..."] if len(printed) > len(shown) else keep
    else:
        fresh = refreshed(shown, printed)
    document[start:end] = fresh
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(document) + "\n")


def main():
    if sys.argv[1] == "check":
        return check(lines(sys.argv[2]), lines(sys.argv[3]))
    update(sys.argv[2], int(sys.argv[3]), lines(sys.argv[4]), sys.argv[1] == "rewrite")
    return 0


sys.exit(main())
