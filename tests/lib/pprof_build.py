# SPDX-License-Identifier: BSD-3-Clause
"""Builds pprof files for tests and benches, from the format's field numbers; python3 alone.

    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    exe = p.mapping("/usr/bin/app")
    main = p.frame("main", file="/src/app.c", line=10, start=5, mapping=exe)
    p.sample([leaf, ..., main], [1, 1000], {"thread": "worker", "tid": 7})
    p.write("out.pb")
"""
import gzip


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, numbers):
    return block(field, b"".join(map(varint, numbers)))


class Profile:
    def __init__(self, types, default=None, time=1700000000 * 10**9, duration=10**9):
        self.strings = {b"": 0}
        self.out = bytearray()
        self.types, self.default = types, default
        self.time, self.duration = time, duration
        self.mappings = self.locations = 0
        self.functions = {}
        self.frames = {}
        self.label_cache = {}
        self.comments = []
        self.period = 10**7
        self.period_type = None  # ("space", "bytes"): a sampled heap

    def string(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        return self.strings.setdefault(data, len(self.strings))

    def mapping(self, path, build_id="", known=True):
        """KNOWN: functions, files and lines were looked up already."""
        self.mappings += 1
        start = self.mappings << 32
        body = number(1, self.mappings) + number(2, start) + number(3, start + (1 << 30))
        body += number(5, self.string(path)) + number(6, self.string(build_id))
        if known:
            body += number(7, 1) + number(8, 1) + number(9, 1)
        self.out += block(3, body)
        return self.mappings

    def function(self, name, file="", start=0, mangled=None):
        key = (name, file, start, mangled)
        if key not in self.functions:
            number_of = self.functions[key] = len(self.functions) + 1
            body = number(1, number_of) + number(2, self.string(name)) + number(3, self.string(mangled or name))
            self.out += block(5, body + number(4, self.string(file)) + number(5, start))
        return self.functions[key]

    def location(self, lines, mapping=0, offset=None):
        """LINES: (name, file, line, start) innermost first; none: an address without a name. OFFSET: in the mapping."""
        self.locations += 1
        address = (mapping << 32) + (16 * self.locations if offset is None else offset)
        body = number(1, self.locations) + number(2, mapping) + number(3, address)
        for name, file, line, start in lines:
            body += block(4, number(1, self.function(name, file, start)) + number(2, line))
        self.out += block(4, body)
        return self.locations

    def frame(self, name, file="", line=0, start=0, mapping=0):
        key = (name, file, line, start, mapping)
        if key not in self.frames:
            self.frames[key] = self.location([(name, file, line, start)], mapping)
        return self.frames[key]

    def labels(self, labels):
        key = tuple(labels.items())
        if key not in self.label_cache:
            out = b""
            for name, value in key:
                body = number(1, self.string(name))
                if isinstance(value, (str, bytes)):
                    body += number(2, self.string(value))
                elif isinstance(value, tuple):  # (700, "bytes")
                    body += number(3, value[0]) + number(4, self.string(value[1]))
                else:
                    body += number(3, value)
                out += block(3, body)
            self.label_cache[key] = out
        return self.label_cache[key]

    def sample(self, stack, values, labels=None):
        body = packed(1, stack) + packed(2, values)
        if labels:
            body += self.labels(labels)
        self.out += block(2, body)

    def bytes(self):
        head = b""
        for name, unit in self.types:
            head += block(1, number(1, self.string(name)) + number(2, self.string(unit)))
        head += number(9, self.time) + number(10, self.duration)
        kind, unit = self.period_type or self.types[-1]
        head += block(11, number(1, self.string(kind)) + number(2, self.string(unit))) + number(12, self.period)
        for comment in self.comments:
            head += number(13, self.string(comment))
        if self.default:
            head += number(14, self.string(self.default))
        return bytes(head + self.out) + b"".join(block(6, s) for s in self.strings)

    def write(self, path):
        with gzip.GzipFile(path, "wb", compresslevel=1, mtime=0) as f:
            f.write(self.bytes())
