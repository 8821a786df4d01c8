#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A profile with many distinct stacks, as a big program has them: flame-generate.py N OUT.pb [SEED]

Stacks are random walks in a call graph of 4,000 functions in 12 modules, 8 to 70 frames deep.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/lib"))
from pprof_build import Profile  # noqa: E402

FUNCTIONS, MODULES, THREADS = 4000, 12, 16


def main():
    wanted, path = int(sys.argv[1]), sys.argv[2]
    rand = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], default="cpu")
    modules = [p.mapping("/usr/bin/service")] + [p.mapping(f"/usr/lib/libpart{i}.so.1") for i in range(1, MODULES)]
    modules.append(p.mapping("[kernel.kallsyms]"))
    frames, calls = [], []
    for i in range(FUNCTIONS):
        module = modules[i * (MODULES + 1) // FUNCTIONS]
        name = f"service::component_{i % 97}::Operation{i}::run_step" if i % 3 else f"op_{i}_helper"
        frames.append(p.frame(name, f"/src/service/part{i % 50}.cc", 10 + i % 900, 10 + i % 900, module))
        calls.append([min(FUNCTIONS - 1, i + 1 + int(rand.expovariate(0.02))) for _ in range(1 + int(rand.expovariate(0.4)))])
    seen = set()
    while len(seen) < wanted:
        at, stack = rand.randrange(4), []
        for _ in range(rand.randint(8, 70)):
            stack.append(frames[at])
            at = calls[at][min(int(rand.expovariate(1.0)), len(calls[at]) - 1)]
        key = tuple(stack)
        if key not in seen:
            seen.add(key)
            n = 1 + int(rand.paretovariate(1.2))
            thread = rand.randrange(THREADS)
            p.sample(stack[::-1], [n, n * 10101010], {"thread": f"worker-{thread}", "tid": 1000 + thread})
    p.write(path)


main()
