# SPDX-License-Identifier: BSD-3-Clause
"""usage: otlp_stacks.py FILE; also a module

What an OTLP message (ProfilesData) says, read without the tool that wrote it: a line "TYPE UNIT" for each Profile, the
lines of its stacks, "thread;main;work 12", as `cprof folded -threads` writes them, and "key=value N" for its attributes.
"""
import collections, struct, sys


def varint(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        n |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return n, at


def fields(data):
    """The fields of a message, each a pair of its number and its value."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else (8 if kind == 1 else 4, at)
            assert at + size <= len(data), "a field is cut"
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def message(data):
    """Field number to the list of its values; absent ones are empty."""
    found = collections.defaultdict(list)
    for n, value in fields(data):
        found[n].append(value)
    return found


def one(m, field, absent=0):
    return m[field][0] if m[field] else absent


def numbers(values):
    """A repeated number, packed or not."""
    out = []
    for value in values:
        at = 0
        while not isinstance(value, int) and at < len(value):
            n, at = varint(value, at)
            out.append(n)
        if isinstance(value, int):
            out.append(value)
    return [n - (1 << 64) if n >> 63 else n for n in out]


class Message:
    def __init__(self, data):
        top = message(data)
        assert len(top[2]) == 1, "one dictionary"
        self.top, self.tables = top, message(top[2][0])
        self.texts = [s.decode() for s in self.tables[5]]
        for n in (1, 2, 3, 4, 5, 6, 7):
            assert self.tables[n] and not any(message(self.tables[n][0]).values()), "entry 0 of a table is not empty"

    def entry(self, table, index):
        return message(self.tables[table][index])

    def value(self, data):
        """The texts and numbers that an AnyValue is."""
        m = message(data)
        if m[5]:
            return [v for inner in message(m[5][0])[1] for v in self.value(inner)]
        if m[1]:
            return [m[1][0].decode()]
        return [self.texts[m[8][0]]] if m[8] else numbers(m[3] or m[2])

    def attributes(self, indices):
        """Pairs of key and value."""
        for index in numbers(indices):
            a = self.entry(6, index)
            for value in self.value(one(a, 2, b"")):
                yield self.texts[one(a, 1)], value

    def frames(self, location):
        """The names of a location, innermost first: of its functions, or else of its module."""
        l = self.entry(2, location)
        for line in l[3]:
            yield self.texts[one(self.entry(3, one(message(line), 1)), 1)]
        if not l[3]:
            yield "[" + self.texts[one(self.entry(1, one(l, 1)), 4)].rsplit("/", 1)[-1] + "]"

    def profiles(self):
        for resource in self.top[1]:
            for scope in message(resource)[2]:
                for profile in message(scope)[2]:
                    p = message(profile)
                    t = message(one(p, 1, b""))
                    yield self.texts[one(t, 1)], self.texts[one(t, 2)], [message(s) for s in p[2]]

    def sums(self):
        """For each Profile its type, its unit, and its values by stack, the thread at its root, and by label."""
        for kind, unit, samples in self.profiles():
            yield kind, unit, *self.sum(samples)

    def sum(self, samples):
        stacks, labels = collections.Counter(), collections.Counter()
        for s in samples:
            value = sum(numbers(s[4])) if s[4] else len(b"".join(s[5])) // 8
            pairs = list(self.attributes(s[2]))
            link = self.entry(4, one(s, 3)) if one(s, 3) else None
            if link:
                pairs += [("trace_id", link[1][0].hex()), ("span_id", link[2][0].hex())]
            names = [n for l in numbers(self.entry(7, one(s, 1))[1]) for n in self.frames(l)]
            thread = [str(v) for k, v in pairs if k == "thread.name"] or ["(no thread)"]
            stacks[";".join(thread + names[::-1])] += value
            for k, v in pairs:
                labels[f"{k}={v}"] += value
        return stacks, labels


def main():
    m = Message(open(sys.argv[1], "rb").read())
    for kind, unit, *both in m.sums():
        print(kind, unit)
        for sums in both:
            for what, value in sorted(sums.items()):
                print(f"  {what} {value}")


if __name__ == "__main__":
    main()
