# SPDX-License-Identifier: BSD-3-Clause
"""A client of the control socket (lib/base/control.h) that is not cprof, and a hostile one.

    control-client.py ask NAME        a status: exit status 0 if there is a reply
    control-client.py start NAME S... a start with settings S; prints the reply's result and text
    control-client.py hostile NAME    rubbish of every kind; says how many connections were made
    control-client.py turns NAME N    N requests that start, stop, set, take windows and look at threads; each is answered
    control-client.py starts NAME N DIRECTORY    starts and stops a mode N times; each time that succeeds, and what the mode
                                      was to write into DIRECTORY is there
"""
import array
import os
import random
import socket
import struct
import sys

MAGIC, VERSION, STATUS = 0x4C544350, 1, 1


def connect(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(10)
    s.connect("\0" + name)
    return s


def request(what=STATUS, text=b"", magic=MAGIC, version=VERSION, result=0, size=None):
    size = len(text) if size is None else size
    return struct.pack("<IHHiI", magic, version, what, result, size) + text


def ask(name):
    with connect(name) as s:
        s.send(request())
        answer = s.recv(65536)
    if len(answer) < 16 or struct.unpack("<IHHiI", answer[:16])[:4] != (MAGIC, VERSION, STATUS, 0):
        sys.exit("no reply: %r" % answer[:64])
    print(answer[16:].decode())


def start(name, *settings):
    with connect(name) as s:
        s.send(request(2, "".join(x + "\n" for x in settings).encode()))
        answer = s.recv(65536)
    print(struct.unpack("<IHHiI", answer[:16])[3], answer[16:].decode())


def rubbish(r):
    yield b""
    for size in 1, 15, 16, 17, 100, 8191, 8192, 8193, 65536:
        yield bytes(r.randrange(256) for _ in range(size))
    for kind in (
        dict(magic=1),
        dict(version=2),
        dict(what=0),
        dict(what=0xFFFF),
        dict(result=-1),
        dict(size=0xFFFFFFFF),
        dict(size=8192),
        dict(size=1),
        dict(text=b"x" * 9000),
        dict(text=b"\0\n=\xff" * 500),
    ):
        yield request(**kind)
    for _ in range(50):
        b = bytearray(request(text=os.urandom(r.randrange(64))))
        b[r.randrange(len(b))] ^= 1 << r.randrange(8)
        yield bytes(b)


def odd(r):
    """Requests whose form is right, with texts and descriptors of any kind."""
    words = [b"mode", b"cpu", b"heap", b"peak", b"holders", b"consumer", b"since", b"do", b"begin", b"end"]
    words += [b"for_ns", b"nofile", b"1", b"0", b"18446744073709551615", b"-1", b"=", b"\n", b"\0", b"\xff" * 300]
    for _ in range(120):
        text = b"".join(r.choice(words) + r.choice([b"=", b"\n", b""]) for _ in range(r.randrange(30)))
        if r.randrange(2):
            text += b"\nmode=cpu\nconsumer=%d\nfor_ns=%d\n" % (r.randrange(40), 10 ** r.randrange(18))
        yield r.choice([1, 4, 5, 5, 5, 6, 7, 7]), text


def send_odd(name, r):
    """Sends them, and waits for each answer: they are accepted fifty a second."""
    made = 0
    for what, text in odd(r):
        fd = r.choice([os.memfd_create("odd"), os.pipe()[1], os.open("/dev/full", os.O_WRONLY), None])
        try:
            with connect(name) as s:
                passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
                s.sendmsg([request(what, text)], passed)
                made += 1
                if r.randrange(8):
                    s.recv(65536)
        except OSError:
            pass
        if fd is not None:
            os.close(fd)
    return made


def hostile(name):
    r = random.Random(27)
    made = 0
    held = []
    for message in rubbish(r):
        try:
            s = connect(name)
            s.settimeout(2)
            s.send(message)
            made += 1
            # Some stay and never read, some go at once, some pass descriptors, and talk on.
            if made % 7 == 0:
                held.append(s)
                continue
            if made % 5 == 0:
                fds = array.array("i", [0, 1, 2] * 80)
                s.sendmsg([request()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            if made % 3 == 0:
                s.recv(65536)
            s.close()
        except OSError:
            pass
    made += send_odd(name, r)
    # A flood.
    for _ in range(2000):
        try:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.setblocking(False)
            s.connect("\0" + name)
            made += 1
            held.append(s)
            if len(held) > 200:
                held.pop(0).close()
        except OSError:
            s.close()
    print(made)


MODES = {"cpu": "CPUPROFILE", "wall": "WALLPROFILE", "heap": "HEAPPROFILE", "lock": "LOCKPROFILE", "io": "IOPROFILE"}


def starts(name, count, directory):
    """Each mode alone and on top of another one, with a file and without."""
    r = random.Random(27)
    written = 0

    def must(what, text):
        with connect(name) as s:
            s.settimeout(60)
            s.send(request(what, text.encode()))
            answer = s.recv(65536)
        result = struct.unpack("<IHHiI", answer[:16])[3] if len(answer) >= 16 else "no answer"
        if result != 0:
            sys.exit("%d %r: %s" % (what, text, result))

    for n in range(int(count)):
        modes = r.sample(list(MODES), r.choice([1, 1, 1, 2]))
        filed = r.randrange(2)
        for mode in modes:
            path = "%s/%s.pb" % (directory, mode)
            must(2, "%s=%s\n%s" % (MODES[mode], path, "" if filed else "nofile=1\nfor_ns=%d\n" % 10**11))
        for mode in modes:
            must(3, "mode=%s\n%s" % (mode, r.choice(["", "discard=1\n"]) if not filed else ""))
        # The children of a storm that forks have files, too. Those that they write now have a dot.
        there = [f for f in os.listdir(directory) if f[0] != "."]
        for mode in modes:
            if filed != (mode + ".pb" in there):
                sys.exit("round %d: %s.pb among %s" % (n, mode, there))
        written += len(modes) * filed
        for file in there:
            os.unlink(os.path.join(directory, file))
    print("%d rounds, %d files" % (n + 1, written))


def turns(name, count):
    """Any request may be refused for a reason of its own, but not left without an answer."""
    r = random.Random(10000)
    modes = MODES
    settings = {"cpu": "CPUPROFILE_FREQUENCY", "wall": "WALLPROFILE_FREQUENCY"}
    settings |= {"heap": "CPROF_HEAP_INTERVAL", "lock": "CPROF_LOCK_THRESHOLD"}
    answers = {}

    def turn(what, text, with_file):
        with connect(name) as s:
            s.settimeout(60)
            fd = os.memfd_create("turn") if with_file else None
            passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if with_file else []
            s.sendmsg([request(what, text.encode())], passed)
            answer = s.recv(65536)
            if len(answer) < 16:
                sys.exit("no answer to %d %r" % (what, text))
            if fd is not None:
                os.close(fd)
            key = (what, struct.unpack("<IHHiI", answer[:16])[3])
            answers[key] = answers.get(key, 0) + 1

    for _ in range(int(count)):
        mode = r.choice(list(modes))
        who = "mode=%s\nconsumer=%d\nfor_ns=%d\n" % (mode, r.randrange(1, 40), 10 ** r.randrange(7, 11))
        kind = r.randrange(9)
        if kind < 2:
            turn(2, "%s=/dev/null\nnofile=1\nfor_ns=%d\n" % (modes[mode], 10 ** r.randrange(7, 11)), False)
        elif kind < 3:
            turn(3, "mode=%s\ndiscard=1\n" % mode, False)
        elif kind < 4:
            turn(5, who + "do=%s\n" % r.choice(["begin", "all", "end"]), False)
        elif kind < 6:
            turn(5, who + "since=%d\n" % r.choice([0, 1, 1 << 60]), True)
        elif kind < 7:
            turn(4, "mode=%s\n" % r.choice([mode, "peak", "holders"]), True)
        elif kind < 8:
            turn(6, "", True)
        elif mode in settings:
            turn(7, "mode=%s\n%s=%d\n" % (mode, settings[mode], 10 ** r.randrange(8)), False)
    for mode in modes:
        turn(3, "mode=%s\ndiscard=1\n" % mode, False)
    print(" ".join("%d:%d=%d" % (what, result, n) for (what, result), n in sorted(answers.items())))


{"ask": ask, "start": start, "hostile": hostile, "starts": starts, "turns": turns}[sys.argv[1]](*sys.argv[2:])
