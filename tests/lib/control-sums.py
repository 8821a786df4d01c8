# SPDX-License-Identifier: BSD-3-Clause
"""Takes windows of every mode of a program, and compares their sums with the program's files; for control-sums.sh.

    control-sums.py DIRECTORY PPROF-CHECK PROGRAM...

DIRECTORY has "modes", which list-modes has printed, and gets the program's files in "files", named after their variables.
"""
import array
import collections
import gzip
import os
import re
import socket
import struct
import subprocess
import sys
import time

MAGIC, VERSION, DUMP, WINDOW = 0x4C544350, 1, 4, 5
Mode = collections.namedtuple("Mode", "name parent variable infix types")
wrong = []


def read_modes(path):
    modes = []
    for line in open(path):
        name, parent, variable, infix, *types = line.rstrip("\n").split("\t")
        modes.append(Mode(name, parent, variable, infix, types))
    return modes


class Window(collections.namedtuple("Window", "rows comments")):
    """A profile: its rows, as [values] by (stack, labels), and its comments."""


# What a row is told apart by differs from window to window.
VARIES = re.compile(r"^(bytes|age|longest|tid)=")


def profile(data, name):
    path = sys.argv[1] + "/profile.pb"
    with open(path, "wb") as f:
        f.write(data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1))
    rows = {}
    raw = subprocess.run([check, "--raw", path], text=True, capture_output=True)
    if raw.returncode:
        wrong.append("%s: %s" % (name, raw.stderr))
    for line in raw.stdout.splitlines():
        values, labels, stack = line.split("\t")
        key = stack, ",".join(x for x in labels.split(",") if not VARIES.match(x))
        values = [int(x) for x in values.split(",")]
        if min(values) < 0:
            wrong.append("%s: a value below 0: %s" % (name, line))
        rows[key] = add(rows.get(key), values)
    return Window(rows, subprocess.check_output([check, "--comments", path], text=True).splitlines())


def add(a, b, sign=1):
    a = a or [0] * len(b)
    return [x + sign * y for x, y in zip(a, b)]


class Process:
    def __init__(self, program):
        self.p = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.name = "\0libcprof/%d" % self.p.pid
        self.connect().close()

    def connect(self):
        for _ in range(600):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                s.connect(self.name)
                s.settimeout(30)
                return s
            except ConnectionRefusedError:
                s.close()
                self.p.poll() is None or sys.exit("the program has ended: %s" % self.p.returncode)
                time.sleep(0.05)
        sys.exit("no control socket")

    def ask(self, what, text, fd=None, wait=True):
        """Returns the error and the text of the answer, if WAIT."""
        with self.connect() as s:
            passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
            s.sendmsg([struct.pack("<IHHiI", MAGIC, VERSION, what, 0, len(text)) + text.encode()], passed)
            if not wait:
                return
            answer = s.recv(65536)
        return struct.unpack("<IHHiI", answer[:16])[3], answer[16:].decode()

    def take(self, what, text, name):
        fd = os.memfd_create("window")
        err, answer = self.ask(what, text, fd)
        if err:
            sys.exit("%s: no profile: %s" % (name, os.strerror(-err)))
        data = os.pread(fd, os.fstat(fd).st_size, 0)
        os.close(fd)
        return profile(data, name), answer

    def begin_work(self):
        self.p.stdin.write(b"w")
        self.p.stdin.flush()

    def end_work(self):
        self.p.stdout.readline() == b"did\n" or sys.exit("the program doesn't work")
        # It has recorded the write of that line when it reads the next one.
        for _ in range(6000):
            if open("/proc/%d/syscall" % self.p.pid).read().split()[1:2] == ["0x0"]:
                return
            time.sleep(0.01)
        sys.exit("the program doesn't read on")

    def end(self):
        self.p.stdin.close()
        return self.p.wait()


class Consumer:
    def __init__(self, process, number, modes):
        self.process, self.number, self.modes = process, number, modes
        self.since = {}
        self.windows = {m.name: [] for m in modes}
        self.last = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.last.bind("\0libcprof-last/%x" % number)
        self.last.listen(64)
        for m in modes:
            err, text = process.ask(WINDOW, self.text(m) + "do=begin\n")
            if err:
                sys.exit("%s: no window: %s" % (m.name, os.strerror(-err)))
            self.since[m.name] = re.search(r"^end=(\d+)", text, re.M)[1]

    def text(self, mode):
        return "mode=%s\nconsumer=%d\nfor_ns=60000000000\nlast=1\n" % (mode.name, self.number)

    def take(self):
        for m in self.modes:
            text = self.text(m) + "since=%s\n" % self.since[m.name]
            p, answer = self.process.take(WINDOW, text, m.name)
            self.since[m.name] = re.search(r"^end=(\d+)", answer, re.M)[1]
            self.windows[m.name].append(p)

    def receive(self):
        """What the process has sent at its end."""
        self.last.settimeout(0)
        got = 0
        while True:
            try:
                s, _ = self.last.accept()
            except BlockingIOError:
                break
            mode, fds, *_ = socket.recv_fds(s, 64, 1)
            s.close()
            data = os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
            os.close(fds[0])
            self.windows[mode.decode()].append(profile(data, mode.decode()))
            got += 1
        if got != len(self.modes):
            wrong.append("%d last windows of %d came" % (got, len(self.modes)))


def is_compared(mode, key):
    """The time of threads that are there goes on between two windows; and the main thread is, whatever its labels say."""
    return mode.name != "wall" or key[1].startswith("thread=worker,")


def compare_rows(mode, consumer, before, after):
    total = [0] * len(mode.types)
    for key in {k for w in consumer.windows[mode.name] for k in w.rows} | set(after.rows):
        windows = [w.rows[key] for w in consumer.windows[mode.name] if key in w.rows]
        nothing = [0] * len(mode.types)
        run = add(after.rows.get(key, nothing), before.rows.get(key, nothing), -1)
        for t, name in enumerate(mode.types):
            if name.startswith("@"):
                continue
            total[t] += sum(w[t] for w in windows)
            if is_compared(mode, key) and sum(w[t] for w in windows) != run[t]:
                wrong.append("%s: %s: windows %s, the run %d: %s" % (mode.name, name, [w[t] for w in windows], run[t], key))
    for t, name in enumerate(mode.types):
        if not total[t] and not name.startswith("@"):
            wrong.append("%s: %s: there is nothing: the program does nothing for it" % (mode.name, name))


def compare_moment(mode, consumer, after):
    """What is of the moment is, in the last window, what is in the file."""
    for t, name in enumerate(mode.types):
        if not name.startswith("@"):
            continue
        last = sum(row[t] for row in consumer.windows[mode.name][-1].rows.values())
        file = sum(row[t] for row in after.rows.values())
        if last != file or not file:
            wrong.append("%s: %s: %d in the last window, %d in the file" % (mode.name, name, last, file))


# Lines of comments, and how many of their first numbers are sums. Seconds and objects are rounded.
LINES = {
    r"io: [a-z]+( [a-z]+)?: (\d+) calls, (\d+) bytes, (\d+) errors": 0,
    r"calls: (\d+) stacks taken": 0,
    r"waits: (\d+) stacks taken; (\d+) waits of": 0,
    r"holders: (\d+) stacks": 0,
    r"wakers: (\d+) .* woke them, (\d+) were .* taken, (\d+) by nothing that was seen, (\d+)": 0,
    r"visits: (\d+) of threads": -1,
    r"allocations: (\d+) objects, (\d+) bytes": 1,
    r"mappings by the program: (\d+), (\d+) bytes": 0,
    r"lifetimes: (\d+) objects, (\d+) bytes freed": 1,
    r"samples: (\d+) taken for (\d+)": 0,
}


def numbers(comments, pattern):
    """The numbers of all lines that match, by the text between them."""
    found = collections.Counter()
    for line in comments:
        m = re.match(pattern, line)
        if m:
            text = re.sub(r"\d+", "#", m[0])
            for i, n in enumerate(re.findall(r"\d+", m[0])):
                found[text, i] += int(n)
    return found


def compare_comments(mode, consumer, before, after, seen):
    for pattern, error in LINES.items():
        windows = collections.Counter()
        for w in consumer.windows[mode.name]:
            windows.update(numbers(w.comments, pattern))
        run = numbers(after.comments, pattern)
        if run:
            seen.add(pattern)
        run.subtract(numbers(before.comments, pattern))
        for key in run | windows:
            # The pacer visits on, between the file and the last window.
            if error >= 0 and abs(run[key] - windows[key]) > error * len(consumer.windows[mode.name]):
                wrong.append("%s: %s: %d in the windows, %d in the run" % (mode.name, key, windows[key], run[key]))
            if error < 0 and windows[key] < run[key]:
                wrong.append("%s: %s: %d in the windows, %d in the run" % (mode.name, key, windows[key], run[key]))


def main(directory, program):
    modes = read_modes(directory + "/modes")
    process = Process(program)
    process.begin_work()
    process.end_work()
    consumers = [Consumer(process, 0xC0DE00 + i + 16 * os.getpid(), modes) for i in range(3)]
    before = {m.name: process.take(DUMP, "mode=%s\n" % m.name, m.name)[0] for m in modes}
    often, seldom, never = consumers
    process.begin_work()
    often.take()
    process.end_work()
    seldom.take()
    process.begin_work()
    process.end_work()
    often.take()
    process.begin_work()
    process.end_work()
    if process.end():
        sys.exit("the program has failed")
    seen = set()
    for c in consumers:
        c.receive()
    for m in modes:
        path = "%s/files/%s%s.pb" % (directory, m.variable, "." + m.infix if m.infix else "")
        after = profile(open(path, "rb").read(), m.name)
        for c in consumers:
            compare_rows(m, c, before[m.name], after)
            compare_moment(m, c, after)
            compare_comments(m, c, before[m.name], after, seen)
    for pattern in set(LINES) - seen:
        wrong.append("no comment is like " + pattern)
    print("\n".join(wrong[:40]))
    return 1 if wrong else 0


check = sys.argv[2]
sys.exit(main(sys.argv[1], sys.argv[3:]))
