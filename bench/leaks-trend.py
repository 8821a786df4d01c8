# SPDX-License-Identifier: BSD-3-Clause
"""cprof leaks on windows of simulated dumps: a queue that breathes must not be named, a leak must be.

    leaks-trend.py CPROF DUMPS SHAPE [WINDOWS]

SHAPE: sine, saw (both fill and empty one to eight times in a window), level (any level at each dump), burst. Samples are
drawn at 512 KiB, one in six of blocks of 100,000 bytes. The leak is of 40 blocks a dump. Prints how often each was named.
"""
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/lib"))
from pprof_build import Profile

INTERVAL, SIZE, LEVEL, LEAK = 512 << 10, 100000, 150, 40
TAKEN = 1 - math.exp(-SIZE / INTERVAL)


def sampled(blocks):
    return sum(random.random() < TAKEN for _ in range(blocks))


def level(shape, cycles, phase, x):
    if shape == "sine":
        return int(LEVEL * (1 + math.sin(2 * math.pi * (cycles * x + phase))))
    if shape == "saw":
        return int(2 * LEVEL * ((cycles * x + phase) % 1))
    return int(2 * LEVEL * random.random() if shape == "level" else LEVEL * random.expovariate(1))


def window(cprof, dumps, shape, directory):
    cycles, phase, leaked, files = random.uniform(1.1, 8), random.random(), sampled(100), []
    for i in range(dumps):
        p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], time=(1700000000 + i * 60) * 10**9, duration=0)
        p.period, p.period_type = INTERVAL, ("space", "bytes")
        app = p.mapping("/opt/app/app")
        leaked += sampled(LEAK)
        for name, n in (("enqueue", sampled(level(shape, cycles, phase, i / (dumps - 1)))), ("remember", leaked)):
            if n:
                values = [round(n / TAKEN), round(n / TAKEN * SIZE)]
                p.sample([p.frame(name, mapping=app)], values, {"bytes": (SIZE, "bytes")})
        files.append("%s/%d.pb" % (directory, i))
        p.write(files[-1])
    out = subprocess.check_output([cprof, "leaks", *files], text=True)
    sure, _, unsure = out.partition("\nUnsure")
    return "enqueue" in sure, "remember" in sure, "enqueue" in unsure, "remember" in unsure


def main(cprof, dumps, shape, windows=180):
    random.seed(5)
    with tempfile.TemporaryDirectory() as directory:
        named = [window(cprof, int(dumps), shape, directory) for _ in range(int(windows))]
    sums = list(map(sum, zip(*named)))
    print("%s dumps, %-5s: the queue in %d, the leak in %d of %d windows; as unsure %d, %d" % (dumps, shape, *sums[:2], len(named), *sums[2:]))


main(*sys.argv[1:])
