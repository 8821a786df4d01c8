# SPDX-License-Identifier: BSD-3-Clause
"""Clients of cprof serve: serve.py HOST:PORT PID CPROF PPROF-CHECK one, all OTHER-PID (of a second process), or
beside OTHER-HOST:PORT OTHER-PID (of a second server, which is ended)"""
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chromium import Browser, find_chromium  # noqa: E402

address, pid, cprof, pprof_check, which = sys.argv[1:6]
host, port = address.split(":")
PREFIX = f"/pid/{pid}"
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", what)


def get(path, method="GET", headers=None, body=None, at=None):
    c = http.client.HTTPConnection(at or address, timeout=60)
    c.request(method, path, body=body, headers=headers or {})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, r.headers, data


def profile(path, name, mode, headers=None):
    """Fetches a profile, which must be valid, and returns the cumulative shares of its functions."""
    return as_profile(path, get(path, headers=headers), name, mode)


def as_profile(path, reply, name, mode):
    status, got, data = reply
    check(status == 200, f"{path}: {status} {data[:200]}")
    check(got["Content-Type"] == "application/octet-stream", f"{path}: {got['Content-Type']}")
    check(got["Content-Disposition"] == f'attachment; filename="{name}"', f"{path}: {got['Content-Disposition']}")
    check(got["X-Content-Type-Options"] == "nosniff" and "X-Go-Pprof" not in got, f"{path}: {got}")
    with open("got.pb", "wb") as f:
        f.write(data)
    if mode:
        valid = subprocess.run([pprof_check, "--mode", mode, "got.pb"], capture_output=True, text=True)
        check(valid.returncode == 0, f"{path}: {valid.stdout}{valid.stderr}")
    return rows()


def rows(*options, of="got.pb"):
    top = subprocess.run([cprof, "top", "-cum", "-json", *options, of], capture_output=True, text=True)
    check(top.returncode == 0, f"cprof top: {top.stderr}")
    return {r["name"].split("@")[0]: r["cum"] for r in json.loads(top.stdout)["rows"]}


def types():
    return re.findall(r"^ +(\w+)/(\w+)", subprocess.run([cprof, "info", "got.pb"], capture_output=True, text=True).stdout, re.M)


def duration():
    return json.loads(subprocess.run([cprof, "info", "-json", "got.pb"], capture_output=True, text=True).stdout)["duration_nanos"]


def error(path, status, text, method="GET", headers=None):
    """An error is a line of plain text, as net/http/pprof has it."""
    got, head, body = get(path, method, headers)
    check(got == status, f"{method} {path}: {got}, not {status}")
    check(head["X-Go-Pprof"] == "1", f"{path}: no X-Go-Pprof")
    check(head["Content-Type"] == "text/plain; charset=utf-8", f"{path}: {head['Content-Type']}")
    check("Content-Disposition" not in head, f"{path}: has Content-Disposition")
    check(text in body.decode() and body.endswith(b"\n"), f"{path}: {body}")
    return head


def modes():
    listed = json.loads(subprocess.run([cprof, "ps", "-json"], capture_output=True, text=True).stdout)
    return {m for p in listed if p["pid"] == int(pid) for m in p["modes"]}


def wait_for(what, condition):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    check(False, f"{what}: never")


def has_stopped(of):
    """Threads that run stop a little later than kill() returns."""
    threads = [open(f"/proc/{of}/task/{t}/stat").read() for t in os.listdir(f"/proc/{of}/task")]
    return all(t.rsplit(")", 1)[1].split()[0] == "T" for t in threads)


def send(path, agent="none"):
    """A request whose reply nobody reads yet."""
    s = socket.create_connection((host, int(port)))
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: {agent}\r\n\r\n".encode())
    return s


def test_cpu_and_wall():
    folded, wall = [], []
    others = [threading.Thread(target=lambda: folded.append(get(PREFIX + "/debug/fgprof?seconds=1&format=folded"))),
              threading.Thread(target=lambda: wall.append(get(PREFIX + "/debug/fgprof?seconds=1")))]
    for t in others:
        t.start()
    top = profile(PREFIX + "/debug/pprof/profile?seconds=1", "profile", "cpu")
    for t in others:
        t.join()
    # On a busy machine the second has few samples, perhaps of one function only.
    check(top.get("work", 0) > 0 and {"critical", "warm"} & set(top), f"cpu: {top}")
    check("cpu" not in modes(), "cpu is left on")
    top = as_profile("/debug/fgprof", wall[0], "profile", "wall")
    check(top["main"] > 0 and top["critical"] > 0, f"wall: {top}")
    status, _, body = folded[0]
    check(status == 200 and re.search(rb"^\S*work;critical;hot \d+$|;work;critical;hot \d+$", body, re.M), f"folded: {body}")
    check("wall" not in modes(), "wall is left on")


def test_totals():
    profile(PREFIX + "/debug/pprof/heap?gc=1", "heap", None)
    profile(PREFIX + "/debug/pprof/block", "block", None)
    check(modes() == {"heap", "lock"}, f"kept on: {modes()}")
    wait_for("waits", lambda: profile(PREFIX + "/debug/pprof/block", "block", None).get("critical", 0) > 0)
    check([t for t in types() if t[0] in ("contentions", "delay")] == [("contentions", "count"), ("delay", "nanoseconds")],
          f"block: {types()}")
    wait_for("holders", lambda: profile(PREFIX + "/debug/pprof/mutex", "mutex", None).get("critical", 0) > 0)
    check([t for t in types() if t[0] in ("contentions", "delay")] == [("contentions", "count"), ("delay", "nanoseconds")],
          f"mutex: {types()}")
    # Nobody waits there for anything but a mutex. Types of their own: receivers would add them to the waits.
    profile(PREFIX + "/debug/pprof/wakers", "wakers", None)
    check(types() == [("waits", "count"), ("delay", "nanoseconds")], f"wakers: {types()}")
    # Parca takes what has a duration for what happened in it, and adds all scrapes up. Go's have none.
    for total in "block", "mutex", "io", "heap", "allocs":
        profile(PREFIX + f"/debug/pprof/{total}", total, None)
        check(duration() == 0, f"{total}: a sum since the start has a duration of {duration()} ns")
    # Two threads keep 4 MiB each; of the 32 samples in 16 MiB that were freed, some are there in any case.
    wait_for("allocations", lambda: profile(PREFIX + "/debug/pprof/allocs", "allocs", None).get("keep", 0) > 24 << 20)
    in_use = rows("-sample_index=inuse_space")["keep"]
    check(0 < in_use < rows("-sample_index=alloc_space")["keep"], "more in use than allocated")
    text = get(PREFIX + "/debug/pprof/heap?debug=1")
    check(text[1]["Content-Type"] == "text/plain; charset=utf-8" and "Content-Disposition" not in text[1], f"text: {text[1]}")
    check(re.match(rb"heap profile: \d+: \d+ \[\d+: \d+\] @ heap/2\n\d+: \d+ \[\d+: \d+\] @( 0x[0-9a-f]+)+\n#\t0x[0-9a-f]+\tkeep\t",
                   text[2]), f"text: {text[2][:300]}")
    text = get(PREFIX + "/debug/pprof/mutex?debug=1")[2]
    check(re.match(rb"--- mutex:\ncycles/second=1000000000\nsampling period=1\n\d+ \d+ @( 0x[0-9a-f]+)+\n#\t", text), f"text: {text[:300]}")
    text = get(PREFIX + "/debug/pprof/block?debug=1")[2]
    check(re.match(rb"--- contention:\ncycles/second=1000000000\n\d+ \d+ @( 0x[0-9a-f]+)+\n#\t", text), f"text: {text[:300]}")


def test_deltas():
    profile(PREFIX + "/debug/pprof/allocs?seconds=1", "allocs-delta", None)
    second = rows()["keep"]
    profile(PREFIX + "/debug/pprof/allocs", "allocs", None)
    total = rows()["keep"]
    check(0 < second < total, f"a second: {second}, all: {total}")
    profile(PREFIX + "/debug/pprof/block?seconds=1", "block-delta", None)
    check(duration() > 0, "block?seconds=1: no duration")
    # Each of two scrapers has its own.
    ones, others = {"User-Agent": "one"}, {"User-Agent": "other"}
    profile(PREFIX + "/debug/pprof/delta_heap", "heap.pprof.gz", None, ones)
    first = rows("-sample_index=alloc_space")["keep"]
    profile(PREFIX + "/debug/pprof/delta_heap", "heap.pprof.gz", None, others)
    check(rows("-sample_index=alloc_space")["keep"] >= first, "the other has what one had")
    profile(PREFIX + "/debug/pprof/delta_heap", "heap.pprof.gz", None, ones)
    again = rows("-sample_index=alloc_space").get("keep", 0)
    check(again < first, f"the second delta: {again}, the first: {first}")
    check(rows("-sample_index=inuse_space")["keep"] > 0, "what is in use is not that of now")
    profile(PREFIX + "/debug/pprof/delta_block", "block.pprof.gz", None)
    profile(PREFIX + "/debug/pprof/delta_mutex", "mutex.pprof.gz", None)
    # What a client that has gone away did not get is part of its next one.
    def all_time():
        profile(PREFIX + "/debug/pprof/allocs", "allocs", None)
        return rows()["keep"]

    profile(PREFIX + "/debug/pprof/delta_heap", "heap.pprof.gz", None, {"User-Agent": "gone"})
    got = rows("-sample_index=alloc_space")["keep"]
    wait_for("more allocations", lambda: all_time() > got)
    send(PREFIX + "/debug/pprof/delta_heap", "gone").close()
    before = all_time()
    wait_for("still more allocations", lambda: all_time() > before)
    profile(PREFIX + "/debug/pprof/delta_heap", "heap.pprof.gz", None, {"User-Agent": "gone"})
    got += rows("-sample_index=alloc_space")["keep"]
    check(before < got <= all_time(), f"deltas of {got} bytes; of {before} before")


def test_errors():
    error(PREFIX + "/debug/pprof/none", 404, "Unknown profile")
    error(PREFIX + "/debug/pprof/trace", 404, "Go programs")
    error(PREFIX + "/debug/pprof/heap?seconds=0", 400, 'invalid value for "seconds" - must be a positive integer')
    error(PREFIX + "/debug/pprof/heap?seconds=1s", 400, 'invalid value for "seconds"')
    error(PREFIX + "/debug/pprof/heap?seconds=1&debug=1", 400, "seconds and debug params are incompatible")
    error(PREFIX + "/debug/pprof/profile?seconds=3601", 400, "at most 3600")
    error(PREFIX + "/debug/fgprof?seconds=x", 400, "bad seconds")
    error(PREFIX + "/debug/fgprof?format=x", 400, "bad format")
    error(PREFIX + "/flame?mode=x", 400, "mode")
    # Its parent has not noticed its end yet.
    ended = subprocess.Popen(["true"])
    wait_for("a zombie", lambda: open(f"/proc/{ended.pid}/stat").read().rpartition(")")[2].split()[0] == "Z")
    error(f"/pid/{ended.pid}/debug/pprof/heap?seconds=1", 404, f"process {ended.pid} has ended")
    ended.wait()
    error("/elsewhere", 404, "not found")
    error("/pid/x/debug/pprof/", 404, "")
    head = error(PREFIX + "/debug/pprof/heap", 405, "GET", "POST")
    check(head["Allow"] == "GET, HEAD", f"405: {head}")
    # A page of somebody else in the user's browser.
    error("/", 403, "evil.example", headers={"Host": "evil.example"})
    error("/", 403, "another site", headers={"Sec-Fetch-Site": "cross-site"})
    error("/", 403, "another site", headers={"Origin": "http://evil.example"})
    error("/", 403, "another site", headers={"Origin": "null"})
    check(get("/", headers={"Host": f"localhost:{port}"})[0] == 200, "localhost is refused")
    # A process that is not profiled has files in /proc, too.
    other = subprocess.Popen(["sleep", "60"])
    for path in ("cmdline", "symbol?0x1", "threadcreate?debug=1"):
        error(f"/pid/{other.pid}/debug/pprof/{path}", 404, "does not answer")
    other.kill()
    other.wait()
    status, head, _ = get(PREFIX + "/debug/pprof")
    check(status == 301 and head["Location"] == PREFIX + "/debug/pprof/", f"301: {status} {head}")
    status, _, body = get(PREFIX + "/debug/pprof/heap", "HEAD")
    check(status == 200 and not body, "HEAD")


def test_pages_of_others():
    # A browser doesn't say Sec-Fetch-Site to an address of another machine, and a page can hide the Referer. So a
    # browser's request turns nothing on, unless it shows that it comes from here. What is on can be read.
    on = PREFIX + "/debug/pprof/heap?debug=1"
    check(not {"cpu", "wall"} & modes(), f"on: {modes()}")
    browser = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}
    for path in ("/debug/fgprof?seconds=1", "/flame?mode=wall"):
        error(PREFIX + path, 403, "is off", headers=browser)
    for headers in (browser, {"User-Agent": "x", "Accept-Language": "en"},
                    {"Referer": "http://evil.example/" + address}, {"Referer": f"http://{address}.evil.example/"},
                    {"Sec-Fetch-Site": "same-site", "Referer": f"http://{address}/"}):
        error(PREFIX + "/debug/pprof/profile?seconds=1", 403, "is off", headers=headers)
    check(not {"cpu", "wall"} & modes(), f"turned on: {modes()}")
    check(get(on)[0] == 200 and "heap" in modes(), "heap is off")
    check(get(on, headers=browser)[0] == 200, "what is on is refused")
    ours = {"User-Agent": "Mozilla/5.0", "Referer": f"http://{address}/"}
    check(get(PREFIX + "/debug/pprof/profile?seconds=1", headers=ours)[0] == 200, "our own page is refused")


def test_lists():
    status, head, body = get("/targets")
    check(status == 200 and head["Content-Type"] == "application/json", f"targets: {head}")
    mine = [t for t in json.loads(body) if t["labels"]["pid"] == pid]
    check(mine == [{"targets": [address], "labels": {"__profile_path_prefix__": PREFIX, "service_name": "serve-host", "pid": pid}}],
          f"targets: {body}")
    status, head, body = get("/metrics")
    check(status == 200 and head["Content-Type"].startswith("text/plain; version=0.0.4"), f"metrics: {head}")
    check(re.search(rf'^cprof_samples_total{{pid="{pid}",program="serve-host",mode="heap"}} [1-9]\d*$', body.decode(), re.M),
          f"metrics: {body.decode()}")
    text = body.decode()
    for name in ("cprof_heap_in_use_bytes", "cprof_heap_allocated_bytes_total", "cprof_lock_wait_seconds_total",
                 "cprof_process_cpu_seconds_total", "cprof_profiler_cpu_seconds_total"):
        check(re.search(rf'^{name}{{pid="{pid}",program="serve-host"}} [0-9.e+-]*[1-9]', text, re.M), f"no {name}: {text}")
    check(f'cprof_lost_samples_total{{pid="{pid}",program="serve-host",mode="heap",cause="ring"}} 0\n' in text, f"losses: {text}")
    check(f'cprof_lost_wait_seconds_total{{pid="{pid}",program="serve-host",mode="lock",cause="memory"}} 0\n' in text, f"losses: {text}")
    span = rf'cprof_span_duration_seconds_%s{{pid="{pid}",program="serve-host",span="request \\"1\\""%s}} ([0-9.e+]+)$'
    up_to = [int(n) for n in re.findall("^" + span % ("bucket", r',le="[^"]+"'), text, re.M)]
    check(len(up_to) == 13 and up_to == sorted(up_to) and up_to[-1] > 0, f"buckets: {up_to} {text}")
    check(int(re.search("^" + span % ("count", ""), text, re.M).group(1)) == up_to[-1], "the count")
    check(float(re.search("^" + span % ("sum", ""), text, re.M).group(1)) > 0, "the sum")
    for what in ("cpu_seconds", "wait_seconds", "allocated_bytes"):
        check(re.search(rf'^cprof_span_{what}_total{{pid="{pid}",program="serve-host",span="request \\"1\\""}} [0-9.e+-]+$', text, re.M),
              f"{what} of spans: {text}")
    if shutil.which("promtool"):
        lint = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
        check(lint.returncode == 0, f"promtool: {lint.stdout}{lint.stderr}")
    status, head, body = get("/")
    check(status == 200 and head["Content-Type"] == "text/html; charset=utf-8", f"/: {head}")
    check(f'href="{PREFIX}/debug/pprof/"' in body.decode(), "/ doesn't list the process")
    status, _, body = get(PREFIX + "/debug/pprof/")
    check(status == 200 and b"heap?debug=1" in body, f"index: {body}")
    check(get(PREFIX + "/debug/pprof/cmdline")[2].decode().endswith("serve-host"), "cmdline")
    profile(PREFIX + "/debug/pprof/threadcreate", "threadcreate", None)
    check(get(PREFIX + "/debug/pprof/threadcreate?debug=1")[2].startswith(b"threadcreate profile: total "), "threadcreate")
    maps = [m.split() for m in open(f"/proc/{pid}/maps") if "serve-host" in m and " r-xp " in m]
    start = int(maps[0][0].split("-")[0], 16) - int(maps[0][2], 16)
    nm = subprocess.run([*os.environ.get("NM", "nm").split(), f"/proc/{pid}/exe"], capture_output=True, text=True).stdout
    hot = start + int(re.search(r"^([0-9a-f]+) [tT] hot$", nm, re.M).group(1), 16) + 1
    for status, _, body in (get(f"{PREFIX}/debug/pprof/symbol?0x{hot:x}+0x1"),
                            get(f"{PREFIX}/debug/pprof/symbol", "POST", body=f"0x1+0x{hot:x}")):
        check(status == 200 and body.decode() == f"num_symbols: 1\n0x{hot:x} hot\n", f"symbol: {body}")


def test_clients():
    # Two windows of one mode, one within the other: the first's end leaves the mode to the second.
    replies = {}

    def ask(seconds):
        replies[seconds] = get(f"{PREFIX}/debug/pprof/profile?seconds={seconds}")

    threads = [threading.Thread(target=ask, args=(s,)) for s in (1, 2)]
    # A client that reads nothing, and one that says nothing, hold up nobody.
    silent, slow = socket.create_connection((host, int(port))), send(PREFIX + "/debug/pprof/allocs")
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for seconds in (1, 2):
        status, _, data = replies[seconds]
        check(status == 200, f"two at once, {seconds} s: {status} {data[:200]}")
        with open("got.pb", "wb") as f:
            f.write(data)
        check(rows().get("critical", 0) > 0, f"two at once, {seconds} s: {rows()}")
    check("cpu" not in modes(), "two at once: cpu is left on")
    silent.close()
    slow.close()
    # Many windows of one mode.
    twelve = []
    threads = [threading.Thread(target=lambda: twelve.append(get(PREFIX + "/debug/pprof/profile?seconds=1")))
               for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check([r[0] for r in twelve] == [200] * 12 and all(r[2] for r in twelve), f"twelve at once: {twelve}")
    wait_for("twelve at once: the end of the mode", lambda: "cpu" not in modes())
    # A client that goes away ends its window.
    gone = send(PREFIX + "/debug/pprof/profile?seconds=3000")
    wait_for("the window of the client that goes away", lambda: "cpu" in modes())
    gone.close()
    wait_for("the end of its window", lambda: "cpu" not in modes())
    other.join()
    # More than can be answered.
    many = []

    def one_more():
        many.append(send(PREFIX + "/debug/pprof/allocs?seconds=3000"))
        return get(PREFIX + "/debug/pprof/cmdline")[0] == 503

    wait_for("too many", one_more)
    check(64 <= len(many) < 128, f"too many are {len(many)}")
    check(error(PREFIX + "/debug/pprof/cmdline", 503, "try again")["Retry-After"] == "5", "no Retry-After")
    for s in many:
        s.close()
    wait_for("room again", lambda: get(PREFIX + "/debug/pprof/cmdline")[0] == 200)


def test_threads():
    profile(PREFIX + "/debug/pprof/goroutine", "goroutine", None)
    check(types() == [("goroutine", "count")], f"goroutine: {types()}")
    check(rows()["main"] == 1, f"goroutine: {rows()}")
    status, head, body = get(PREFIX + "/debug/pprof/goroutine?debug=1")
    check(status == 200 and head["Content-Type"] == "text/plain; charset=utf-8", f"goroutine: {status} {head}")
    check(re.match(rb"goroutine profile: total 3\n", body), f"goroutine: {body}")
    check(re.search(rb"^1 @( 0x[0-9a-f]+)+\n(#\t0x[0-9a-f]+\t.*\n)*#\t0x[0-9a-f]+\tmain\t\S*serve-host\.c:\d+\n", body, re.M),
          f"goroutine: {body}")
    status, head, body = get(PREFIX + "/debug/pprof/goroutine?debug=2")
    check(status == 200 and head["Content-Type"] == "text/plain; charset=utf-8", f"goroutine: {status} {head}")
    check(len(re.findall(rb"^goroutine \d+ \[\w+[^]]*, serve-host\]:$", body, re.M)) == 3, f"goroutine: {body}")
    check(re.search(rb"^goroutine %s \[waiting on pipe, fd 0, serve-host\]:\n(.*\n)*?main\(\.\.\.\)\n\t\S*serve-host\.c:\d+\n" % pid.encode(), body, re.M),
          f"goroutine: {body}")
    check(b"not sampled" not in body, f"goroutine: {body}")
    check(modes() == set(), f"goroutine turns on {modes()}")


def test_flame(prefix):
    other = prefix + "/flame?mode=cpu"
    status, head, body = get(other)
    check(status == 200 and head["Content-Type"] == "text/html; charset=utf-8", f"flame: {status} {head}")
    check(b'"critical"' in body and b"cprof flame" in body, "flame: it is not the page")
    first = time.monotonic()
    status, _, body = get(other)
    check(status == 200 and time.monotonic() - first < 60, "flame: again")
    # Without a file, the mode gives up what its windows have shown. A sum says that it lacks it.
    check(get(other.replace("cpu", "lock"))[0] == 200, "flame: lock")
    status, _, block = get(f"/pid/{sys.argv[6]}/debug/pprof/block")
    check(status == 200, f"block: {status} {block}")
    block = gzip.decompress(block)
    check(b"not all since the mode's start" in block, "block doesn't say that it lacks what the flame graph has shown")


def test_missed(prefix):
    """What a client missed is there after a request that fails, too."""
    def allocated(name):
        status, _, data = get(f"{prefix}/debug/pprof/{name}", headers={"User-Agent": "gone"})
        check(status == 200, f"{name}: {status} {data[:200]}")
        with open("other.pb", "wb") as f:
            f.write(data)
        return rows("-sample_index=alloc_space", of="other.pb").get("keep", 0)

    def wait_for_more():
        before = allocated("allocs")
        wait_for("more allocations", lambda: allocated("allocs") > before)
        return before

    got = allocated("delta_heap")
    wait_for_more()
    send(prefix + "/debug/pprof/delta_heap", "gone").close()
    wait_for_more()
    os.kill(int(sys.argv[6]), signal.SIGSTOP)
    try:
        wait_for("the stop", lambda: has_stopped(sys.argv[6]))
        error(prefix + "/debug/pprof/delta_heap", 500, "is stopped", headers={"User-Agent": "gone"})
    finally:
        os.kill(int(sys.argv[6]), signal.SIGCONT)
    before = wait_for_more()
    got += allocated("delta_heap")
    check(before < got <= allocated("allocs"), f"after an error: deltas of {got} bytes; of {before} before")


def test_other():
    """Of the second process, whose modes nobody counts, beside the other tests: these wait for long."""
    prefix = f"/pid/{sys.argv[6]}"
    test_flame(prefix)
    test_missed(prefix)


def test_one():
    """Of one process that has its name; it ends in the middle of a window."""
    status, head, body = get("/debug/pprof/cmdline")
    check(status == 200 and body.decode().endswith("serve-host"), f"cmdline: {body}")
    check(get("/debug/pprof/heap")[0] == 200, "heap")
    error(f"/pid/{os.getpid()}/debug/pprof/heap", 404, "is not served here")
    # A client that leaves before it is known which process it means: nothing is started for it.
    leaves = send("/debug/pprof/profile?seconds=3000")
    leaves.shutdown(socket.SHUT_WR)
    leaves.settimeout(60)
    try:
        leaves.recv(4096)
    except TimeoutError:
        check(False, "a client that has left is still served")


def test_beside():
    """Two servers, and modes that are off: who ends first leaves the other one's windows and modes alone."""
    other = sys.argv[6]
    replies = {}

    def ask(at, kind, seconds):
        replies[at] = get(f"{PREFIX}/debug/pprof/{kind}?seconds={seconds}", at=at)

    def start(*args):
        t = threading.Thread(target=ask, args=args)
        t.start()
        return t

    def check_reply(at, what, function):
        status, _, data = replies[at]
        if status != 200:
            check(False, f"beside, {what}: {status} {data[:200]}")
            return
        with open("got.pb", "wb") as f:
            f.write(data)
        check(rows().get(function, 0) > 0, f"beside, {what}: {rows()}")

    first = start(other, "profile", 1)
    wait_for("the first window", lambda: "cpu" in modes())
    second = start(address, "profile", 3)
    first.join()
    second.join()
    check_reply(other, "the first", "critical")
    check_reply(address, "the second", "critical")
    check("cpu" not in modes(), "beside: cpu is left on")
    # The other has turned these modes on, for its scraper's next sums. It ends in the middle of a window.
    check(get(PREFIX + "/debug/pprof/heap", at=other)[0] == 200, "beside: heap")
    check(get(PREFIX + "/debug/pprof/block", at=other)[0] == 200, "beside: block")
    check(get(PREFIX + "/flame?mode=cpu", at=other)[0] == 200, "beside: flame")
    wait_for("what is to be known", lambda: profile(PREFIX + "/debug/pprof/allocs", "allocs", None).get("keep", 0) > 24 << 20)
    profile(PREFIX + "/debug/pprof/delta_heap", "heap.pprof.gz", None)
    profile(PREFIX + "/debug/pprof/delta_block", "block.pprof.gz", None)
    profile(PREFIX + "/debug/pprof/block", "block", None)
    known = rows().get("critical", 0)
    window = start(address, "profile", 3)
    os.kill(int(sys.argv[7]), signal.SIGTERM)
    wait_for("the end of the other", lambda: not os.path.exists(f"/proc/{sys.argv[7]}/fd/0"))
    profile(PREFIX + "/debug/pprof/allocs", "allocs", None)
    check(rows().get("keep", 0) > 24 << 20, f"beside: the other has ended heap: {rows()}")
    profile(PREFIX + "/debug/pprof/delta_block", "block.pprof.gz", None)
    profile(PREFIX + "/debug/pprof/block", "block", None)
    check(rows().get("critical", 0) > known, f"beside: the other has ended lock: {rows()}, {known} before")
    window.join()
    check_reply(address, "the end of the other", "critical")
    check(modes() == {"heap", "lock"}, f"beside: kept on: {modes()}")


def test_page():
    """The page of one process of which nothing is recorded says what there is to see, and a click shows it."""
    if not find_chromium():
        print("the page in a browser is not tested: chromium is not installed")
        return
    with Browser() as browser:
        page = browser.open(f"http://{address}/", width=1280, height=800)
        offered = page.value("[...document.querySelectorAll('#frames a')].map(a => a.textContent)")
        said = page.value("document.querySelector('#frames p').textContent")
        check(offered[:3] == ["CPU time", "Wall time", "Memory"] and pid in said, f"the page of one process: {said} {offered}")
        page.click(*page.value("(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('#frames a').getBoundingClientRect())"))
        graph = "(frame => frame && frame.contentWindow.cprofFlame && frame.contentWindow.cprofFlame.sums.whole)(document.querySelector('iframe.now'))"
        wait_for("the graph", lambda: page.value(graph))
        check("cpu" in modes() and page.value("document.querySelector('#frames p')") is None, f"after the click: {modes()}")
        check(not page.complaints, f"the page complains: {page.complaints}")


def counted(test):
    """An exception in a thread ends only that thread."""
    try:
        test()
    except Exception as e:
        check(False, f"{test.__name__}: {e!r}")


if which == "all":
    other = threading.Thread(target=counted, args=(test_other,))
    other.start()
    for test in (test_errors, test_threads, test_cpu_and_wall, test_totals, test_deltas, test_pages_of_others,
                 test_lists, test_clients):
        began = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - began:.1f} s")
elif which == "page":
    test_page()
elif which == "one":
    test_one()
else:
    test_beside()
sys.exit(failures != 0)
