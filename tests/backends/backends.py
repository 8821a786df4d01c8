# SPDX-License-Identifier: BSD-3-Clause
"""Sends the profiles that backends.sh made to real receivers, asks them back, and compares each type, stack by stack.

backends.py CPROF FOLDER; the receivers are named by OTELCOL, PROFCHECK, PYROSCOPE, PARCA.
"""
import base64
import glob
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../lib")
import otlp_stacks

cprof, work = sys.argv[1:]
failed = []


def fail(what):
    failed.append(what)
    print("FAIL:", what)


def run(*command):
    r = subprocess.run(command, capture_output=True, timeout=60)
    if r.returncode:
        fail(f"{' '.join(command)}: {r.stderr.decode()[-300:]}{r.stdout.decode()[-300:]}")
    return r.stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(port, path, body, kind="application/x-protobuf"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


class Server:
    """A receiver as a process, its output in a file. It ends with the with-block."""

    def __init__(self, name, port, *command):
        self.name, self.port = name, port
        self.log = open(f"{work}/{name}.log", "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, cwd=work)

    def __enter__(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.name} does not come up: {open(self.log.name).read()[-2000:]}")

    def __exit__(self, *unused):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def types(file):
    """The names of FILE's sample types, and the default one."""
    names, default = [], None
    for line in run(cprof, "info", file).decode().split("\n"):
        words = line.split()
        if len(words) >= 3 and words[1] == "total":
            names.append(words[0].split("/")[0])
            default = names[-1] if words[-1] == "(default)" else default
    return names, default


def stacks(file, kind, *how):
    """Stack to value, for one sample type."""
    lines = run(cprof, "folded", f"-sample_index={kind}", *how, file).decode().split("\n")
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines if line}


def check_message(where, file, came):
    """Says if the OTLP message CAME holds other types or stacks than FILE."""
    names, default = types(file)
    got = {kind: sums for kind, _unit, sums, _labels in otlp_stacks.Message(came).sums()}
    if set(got) != set(names) or next(iter(got)) != default:
        fail(f"{where}: {os.path.basename(file)} has types {names}, what came back {list(got)}")
        return
    for kind in names:
        sent = stacks(file, kind, "-threads")
        if sent != got[kind]:
            fail(f"{where}: {os.path.basename(file)}: {kind}: {len(sent)} stacks were sent, {len(got[kind])} came back; "
                 f"{sorted(set(sent.items()) ^ set(got[kind].items()))[:3]}")
        for season in ("spring", "summer", "autumn", "winter"):
            if not any(season in s for s in sent):
                fail(f"{os.path.basename(file)}: {kind} has no {season}")
    print(f"{where}: {os.path.basename(file)}: {', '.join(names)}: as sent")


def profiles():
    files = sorted(glob.glob(f"{work}/*.pb"))
    assert len(files) >= 5, files
    return files


def otlp(file):
    return run(cprof, "convert", "-to=otlp", file)


def profcheck(program):
    for file in profiles():
        with open(f"{work}/checked.otlp", "wb") as f:
            f.write(otlp(file))
        run(program, "-check-dupes", "-check-orphans", f.name)
        print(f"profcheck: {os.path.basename(file)}: conforms")


class Listener(http.server.BaseHTTPRequestHandler):
    """What the Collector sends on to."""

    got = []

    def do_POST(self):
        Listener.got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *unused):
        pass


def collector(program):
    listener = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    port = free_port()
    with open(f"{work}/otelcol.yaml", "w") as f:
        f.write(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: 127.0.0.1:{port}}}}}}}}}
exporters:
  debug: {{verbosity: detailed}}
  otlp_http:
    endpoint: http://127.0.0.1:{listener.server_port}
    compression: none
    retry_on_failure: {{enabled: false}}
    sending_queue: {{enabled: false}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{profiles: {{receivers: [otlp], exporters: [debug, otlp_http]}}}}
""")
    with Server("otelcol", port, program, "--config", f.name, "--feature-gates=service.profilesSupport"):
        for file in profiles():
            before = len(Listener.got)
            post(port, "/v1development/profiles", otlp(file))
            # The answer comes after the exporters have theirs.
            if len(Listener.got) != before + 1:
                fail(f"the Collector sent {len(Listener.got) - before} requests on for {file}")
                continue
            path, body = Listener.got[-1]
            if path != "/v1development/profiles":
                fail(f"the Collector sends to {path}")
            check_message("Collector", file, body)
    log = open(f"{work}/otelcol.log").read()
    for needed in ("service.name: Str(backends-host)", "thread.name: Str", "pprof.profile.comment"):
        if needed not in log:
            fail(f"the Collector's debug exporter shows no {needed}")


# The file, its sample type, and the name of the series that cprof push makes of it. Parca adds ":delta" to what has a
# duration.
PUSHED = (
    ("cpu.pb", "cpu", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
    ("wall.pb", "wall", "wall:wall:nanoseconds:wall:nanoseconds"),
    ("heap.pb", "alloc_space", "memory:alloc_space:bytes:space:bytes"),
    ("heap.pb", "alloc_objects", "memory:alloc_objects:count:space:bytes"),
    ("heap.pb", "inuse_space", "memory:inuse_space:bytes:space:bytes"),
    ("heap.pb", "inuse_objects", "memory:inuse_objects:count:space:bytes"),
    ("lock.pb", "contentions", "block:contentions:count:contentions:count"),
    ("lock.pb", "delay", "block:delay:nanoseconds:contentions:count"),
    ("lock.holders.pb", "waits", "mutex:contentions:count:contentions:count"),
    ("lock.holders.pb", "blocking", "mutex:delay:nanoseconds:contentions:count"),
    ("lock.wakers.pb", "waits", "wakers:waits:count:wakes:count"),
    ("lock.wakers.pb", "delay", "wakers:delay:nanoseconds:wakes:count"),
    ("io.pprof", "calls", "io:calls:count:calls:count"),
    ("io.pprof", "delay", "io:delay:nanoseconds:calls:count"),
)


def push(to, url, name, *what, **environment):
    r = subprocess.run([cprof, "push", f"-to={to}", f"-name={name}", "-every=1s", "-all-frames",
                        f"-spool={work}/spool", url, *what],
                       env=dict(os.environ, **environment), capture_output=True, text=True, timeout=120)
    if r.returncode or "lost" in r.stderr:
        fail(f"cprof push -to={to}: {r.returncode}: {r.stderr}")


def push_windows(to, url, name, folder):
    settings = {
        "LD_PRELOAD": os.environ["CP_LIBRARY"], "CPROF_SYMBOLIZE": "full", "CPUPROFILE": f"{folder}/cpu.pb",
        "CPUPROFILE_FREQUENCY": "200", "WALLPROFILE": f"{folder}/wall.pb", "HEAPPROFILE": f"{folder}/heap.pb",
        "CPROF_HEAP_INTERVAL": "8K", "LOCKPROFILE": f"{folder}/lock.pb", "CPROF_LOCK_THRESHOLD": "0",
        "IOPROFILE": f"{folder}/io.pprof"}
    host = subprocess.Popen([f"{work}/backends-host"], env=dict(os.environ, **settings), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    end = time.monotonic() + 60
    while f'"pid":{host.pid},' not in run(cprof, "ps", "-json").decode().replace(" ", "") and time.monotonic() < end:
        time.sleep(0.1)
    pushing = subprocess.Popen([cprof, "push", f"-to={to}", f"-name={name}", "-every=1s", "-verbose",
                                "-all-frames", f"-spool={work}/spool", url, str(host.pid)], stderr=subprocess.PIPE, text=True)
    said = ""
    while "is followed" not in said:
        line = pushing.stderr.readline()
        if not line:
            break
        said += line
    host.stdin.write(b"go\n")
    host.stdin.flush()
    host.stdout.readline()
    # A window with the end of the work; what is left for the file is a wait.
    time.sleep(2.5)
    host.communicate(timeout=60)
    said += pushing.communicate(timeout=60)[1]
    if host.returncode or pushing.returncode or "lost" in said:
        fail(f"cprof push -to={to}: {host.returncode} {pushing.returncode}: {said}")


def check_pushed(receiver, url, ask):
    """Files, then windows of a process, whose sum is the file that it writes at its end. ASK returns the stacks of a
    series of a service, pushed with a duration or not."""
    to = receiver.lower()
    windows = f"{work}/windows"
    os.makedirs(windows, exist_ok=True)
    push(to, url, f"{to}-files", *(f"{work}/{name}" for name in dict.fromkeys(row[0] for row in PUSHED)))
    push_windows(to, url, f"{to}-windows", windows)
    for folder, service, is_window in ((work, f"{to}-files", False), (windows, f"{to}-windows", True)):
        for name, kind, series in PUSHED:
            # What is in use is no sum of windows.
            if is_window and kind.startswith("inuse_"):
                continue
            sent = stacks(f"{folder}/{name}", kind)
            got = ask(series, service, is_window or name != "heap.pb")
            # Before the push began, the process did nothing but start and wait for a line.
            if is_window and name != "io.pprof":
                sent, got = ({s: v for s, v in all.items() if ";year" in s} for all in (sent, got))
            if not sent or sent != got:
                fail(f"{receiver}: {service}: {series}: {len(sent)} stacks were sent, {len(got)} came back; "
                     f"{sorted(set(sent.items()) ^ set(got.items()))[:3]}")
            else:
                print(f"{receiver}: {service}: {series}: as sent")


def varint(number):
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(parts + bytes([number]))


def merged_profile(port, profile_type, start, end, service="backends-host"):
    """What Pyroscope has of a type between two times in ms, as pprof: a SelectMergeProfileRequest."""
    request = b""
    for field, text in ((1, profile_type), (2, f'{{service_name="{service}"}}')):
        request += varint(field << 3 | 2) + varint(len(text)) + text.encode()
    request += varint(3 << 3) + varint(start) + varint(4 << 3) + varint(end)
    return post(port, "/querier.v1.QuerierService/SelectMergeProfile", request, "application/proto")


def period_of(file):
    """The period and its type: 10101010, "cpu:nanoseconds"."""
    for line in run(cprof, "info", file).decode().split("\n"):
        words = line.split()
        if words[:1] == ["period"]:
            return int(words[1]), words[2].replace("/", ":")
    return 0, ":"


def types_with_units(file):
    lines = run(cprof, "info", file).decode().split("\n")
    return [line.split()[0].split("/") for line in lines if len(line.split()) >= 3 and line.split()[1] == "total"]


def check_in_pyroscope(port, file, start, end):
    period, period_type = period_of(file)
    for kind, unit in types_with_units(file):
        sent = stacks(file, kind)
        # A profile is named after its period's type; of samples with a period Pyroscope makes time.
        wanted = f"{period_type.split(':')[0]}:{kind}:{unit}:{period_type}"
        if (kind, period_type) == ("samples", "cpu:nanoseconds"):
            wanted = f"process_cpu:cpu:nanoseconds:{period_type}"
            sent = {stack: value * period for stack, value in sent.items()}
        with open(f"{work}/came.pb", "wb") as f:
            f.write(merged_profile(port, wanted, start, end))
        got = stacks(f.name, "0")
        if not sent or sent != got:
            fail(f"Pyroscope: {os.path.basename(file)}: {wanted}: {len(sent)} stacks were sent, {len(got)} came back; "
                 f"{sorted(set(sent.items()) ^ set(got.items()))[:3]}")
        else:
            print(f"Pyroscope: {os.path.basename(file)}: {wanted}: as sent")


def pyroscope(program):
    port, store = free_port(), f"{work}/pyroscope"
    # On loopback, in one process, without telling anybody of its use.
    here = ["distributor.ring.instance-addr", "ingester.lifecycler.addr", "query-scheduler.ring.instance-addr",
            "store-gateway.sharding-ring.instance-addr", "compactor.ring.instance-addr",
            "overrides-exporter.ring.instance-addr", "query-frontend.instance-addr", "memberlist.bind-addr",
            "memberlist.advertise-addr", "server.http-listen-address", "server.grpc-listen-address"]
    options = {name: "127.0.0.1" for name in here}
    memberlist = free_port()
    options.update({
        "architecture.storage": "v1", "write-path": "ingester", "usage-stats.enabled": "false", "tracing.enabled": "false",
        "self-profiling.disable-push": "true", "ingester.min-ready-duration": "0", "storage.backend": "filesystem",
        "pyroscopedb.data-path": f"{store}/db", "storage.filesystem.dir": f"{store}/shared",
        "compactor.data-dir": f"{store}/compactor", "blocks-storage.bucket-store.sync-dir": f"{store}/sync",
        "server.http-listen-port": port, "server.grpc-listen-port": free_port(), "memberlist.bind-port": memberlist,
        "memberlist.advertise-port": memberlist})
    with Server("pyroscope", port, program, *(f"-{name}={value}" for name, value in options.items())):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                if b"ready" in urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5).read():
                    break
            except OSError:
                pass
            time.sleep(0.2)
        start = int(time.time() - 3600) * 1000
        for file in profiles():
            post(port, "/v1development/profiles", otlp(file))
        for file in profiles():
            check_in_pyroscope(port, file, start, start + 2 * 3600 * 1000)

        def ask(series, service, _delta):
            with open(f"{work}/came.pb", "wb") as f:
                f.write(merged_profile(port, series, start, start + 2 * 3600 * 1000, service))
            return stacks(f.name, "0")

        check_pushed("Pyroscope", f"http://127.0.0.1:{port}", ask)


def parca_query(port, path, **parameters):
    url = f"http://127.0.0.1:{port}/api{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def in_parca(port, wanted, start):
    """What Parca has of a type since START, as a folded profile."""
    answer = parca_query(port, "/profiles/query", **{
        "mode": "MODE_MERGE", "merge.query": wanted, "merge.start": iso(start), "merge.end": iso(time.time() + 5),
        "report_type": "REPORT_TYPE_PPROF"})
    with open(f"{work}/came.pb", "wb") as f:
        f.write(base64.b64decode(answer["pprof"]))
    return stacks(f.name, "0")


def scraped_targets(port, job):
    pools = parca_query(port, "/targets")["targets"]
    return pools.get(job, {}).get("targets", [])


def check_scraped_by_parca(port, start):
    """Parca's default settings, by address and by http_sd; each asks at least twice."""
    wanted = {"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta": "hot",
              "memory:alloc_space:bytes:space:bytes": "keep",
              "memory:inuse_space:bytes:space:bytes": "keep",
              "block:delay:nanoseconds:contentions:count": "critical",
              "mutex:delay:nanoseconds:contentions:count": "critical",
              "goroutine:goroutine:count:goroutine:count": "main"}
    end = time.monotonic() + 90
    missing = None
    while missing != [] and time.monotonic() < end:
        missing = []
        for job, count in (("address", 5), ("discovered", 10)):
            targets = scraped_targets(port, job)
            if len(targets) != count or any(t["health"] != "HEALTH_GOOD" for t in targets):
                missing.append([job] + [f'{t["url"]} {t["health"]} {t.get("lastError")}' for t in targets])
            for name, function in wanted.items():
                try:
                    got = in_parca(port, f'{name}{{job="{job}"}}', start)
                except OSError as e:
                    got = {str(e): 0}
                if not any(function in stack for stack in got):
                    missing.append([job, name, list(got)[:2]])
        time.sleep(2)
    if missing:
        fail(f"Parca's scrapes: {missing}")
    else:
        print("Parca: its default scrape configuration, by address and by http_sd: " + ", ".join(wanted))
    # A sum since the start must not be a delta: Parca would add the scrapes up.
    for t in parca_query(port, "/profiles/types")["types"]:
        name = ":".join((t["name"], t["sampleType"]))
        if t.get("delta") and t["name"] in ("block", "mutex", "memory"):
            for job in ("address", "discovered"):
                full = ":".join((name, t["sampleUnit"], t["periodType"], t["periodUnit"], "delta"))
                if in_parca(port, f'{full}{{job="{job}"}}', start):
                    fail(f"Parca takes the sum {full} for a delta")


def parca(program):
    port, one, every = free_port(), free_port(), free_port()
    with open(f"{work}/parca.yaml", "w") as f:
        f.write(f"""
object_storage: {{bucket: {{type: FILESYSTEM, config: {{directory: {work}/parca-store}}}}}}
scrape_configs:
- job_name: address
  static_configs: [{{targets: ["127.0.0.1:{one}"]}}]
- job_name: discovered
  http_sd_configs: [{{url: "http://127.0.0.1:{every}/targets"}}]
  relabel_configs:
  - {{source_labels: [__profile_path_prefix__, __profile_path__], separator: "", target_label: __profile_path__}}
""")
    start = time.time() - 3600
    environment = dict(os.environ, LD_PRELOAD=os.environ["CP_LIBRARY"], CPROF_CONTROL="on")
    hosts = [subprocess.Popen([f"{work}/serve-host"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
             for _ in range(2)]
    for host in hosts:
        host.stdout.readline()
    with Server("serve-one", one, cprof, "serve", f"-http=127.0.0.1:{one}", str(hosts[0].pid)), \
            Server("serve-every", every, cprof, "serve", f"-http=127.0.0.1:{every}", *(str(h.pid) for h in hosts)), \
            Server("parca", port, program, f"--http-address=127.0.0.1:{port}", f"--config-path={f.name}",
                   f"--storage-path={work}/parca-data", f"--debuginfo-cache-dir={work}/parca-cache",
                   "--debuginfod-upstream-servers="):
        def ask(series, service, delta):
            name = series + (":delta" if delta else "")
            return in_parca(port, f'{name}{{service_name="{service}"}}', start)

        check_pushed("Parca", f"http://127.0.0.1:{port}", ask)
        check_scraped_by_parca(port, start)
    for host in hosts:
        host.stdin.close()
        host.wait()


receivers = {"PROFCHECK": profcheck, "OTELCOL": collector, "PYROSCOPE": pyroscope, "PARCA": parca}
for variable, check in receivers.items():
    program = os.environ.get(variable)
    if program:
        check(os.path.abspath(program))
    else:
        print(f"skipped: {variable} names no program")
sys.exit(1 if failed else 0)
