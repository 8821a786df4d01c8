# SPDX-License-Identifier: BSD-3-Clause
"""One profile with everything that flame, folded and convert tell apart, and TAP's lines."""
from pprof_build import Profile

MS = 10**6
EVIL = "</script><script>document.title='harmed'</script>\"'&amp;<!--"
TURNED = "evil\u202egnp.exe \u05e9\u05dc\u05d5\u05dd \u6f22\u5b57 \u2028x"


def make_mix(path, inner=30, longest=20):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds"), ("alloc_space", "bytes")], default="cpu")
    exe, lib = p.mapping("/usr/bin/app"), p.mapping("/usr/lib/libz.so.1")
    kernel, jit = p.mapping("[kernel.kallsyms]"), p.mapping("//anon")
    start, main = p.frame("_start", mapping=exe), p.frame("main", "/src/app.c", 12, 10, exe)
    work = p.location([("inner", "/src/inner.h", 7, 5), ("middle", "/src/inner.h", 22, 20),
                       ("work", "/src/work.c", 101, 90)], exe)
    deflate = p.frame("deflate", "/src/deflate.c", 700, 650, lib)
    match = p.frame("longest_match", "/src/deflate.c", 1200, 1180, lib)
    write, vfs = p.frame("ksys_write", mapping=kernel), p.frame("vfs_write", mapping=kernel)
    run, cut = p.frame("Interpreter::~run<int>", mapping=jit), p.frame("[truncated]")
    evil = p.frame(EVIL, "/src/<img src=x onerror=alert(2)>.c", 1, 1, exe)
    turned, bare = p.frame(TURNED, mapping=exe), p.location([], lib)
    broken = p.frame(b"broken\xff\xfeutf8\x07", mapping=exe)
    worker = {"thread": "worker", "tid": 7}
    first = {"thread": "main", "tid": 1, "evil</select>": "<b>\"x'"}

    def sample(stack, n, labels):
        p.sample(stack[::-1], [n, n * 10 * MS, n * 4096], labels)

    sample([start, main, work], inner, first)
    sample([start, main, work, deflate], 10, first)
    sample([start, main, work, deflate, match], longest, first)
    sample([start, main, write, vfs], 12, first)
    sample([start, main, run], 9, worker)
    sample([cut, deflate, match], 5, worker)
    sample([start, main, evil], 5, worker)
    sample([start, main, evil, turned], 4, worker)
    sample([start, main, evil, turned, broken], 3, worker)
    sample([start, main, bare], 2, worker)
    p.write(path)


class Checks:
    def __init__(self):
        self.count = self.failed = 0

    def that(self, name, good, *detail):
        self.count += 1
        self.failed += not good
        print(("ok" if good else "not ok"), self.count, "-", name, *([] if good else ["#", *detail]), flush=True)

    def equal(self, name, got, wanted):
        self.that(name, got == wanted, "got", ascii(got), "wanted", ascii(wanted))

    def skip(self, name, why):
        self.count += 1
        print("ok", self.count, "-", name, "# SKIP", why, flush=True)

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0
