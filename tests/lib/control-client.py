# SPDX-License-Identifier: BSD-3-Clause
"""A client of the control socket (lib/base/control.h) that is not cprof, and a hostile one.

    control-client.py ask NAME        a status: exit status 0 if there is a reply
    control-client.py hostile NAME    rubbish of every kind; says how many connections were made
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


{"ask": ask, "hostile": hostile}[sys.argv[1]](sys.argv[2])
