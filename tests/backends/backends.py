# SPDX-License-Identifier: BSD-3-Clause
"""Sends the profiles that backends.sh made to real receivers, asks them back, and compares each type, stack by stack.

backends.py CPROF FOLDER; the receivers are named by OTELCOL, PROFCHECK, PYROSCOPE.
"""
import glob
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

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


def stacks(file, kind):
    """Stack to value, for one sample type."""
    lines = run(cprof, "folded", f"-sample_index={kind}", file).decode().split("\n")
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines if line}


def check_same(where, file, came):
    if types(file) != types(came):
        fail(f"{where}: {os.path.basename(file)} has types {types(file)}, what came back {types(came)}")
        return
    for kind in types(file)[0]:
        sent, got = stacks(file, kind), stacks(came, kind)
        if sent != got:
            fail(f"{where}: {os.path.basename(file)}: {kind}: {len(sent)} stacks were sent, {len(got)} came back; "
                 f"{sorted(set(sent.items()) ^ set(got.items()))[:3]}")
        for season in ("spring", "summer", "autumn", "winter"):
            if not any(season in s for s in sent):
                fail(f"{os.path.basename(file)}: {kind} has no {season}")
    print(f"{where}: {os.path.basename(file)}: {', '.join(types(file)[0])}: as sent")


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
            with open(f"{work}/came.otlp", "wb") as f:
                f.write(body)
            check_same("Collector", file, f.name)
    log = open(f"{work}/otelcol.log").read()
    for needed in ("service.name: Str(backends-host)", "thread.name: Str", "pprof.profile.comment"):
        if needed not in log:
            fail(f"the Collector's debug exporter shows no {needed}")


def varint(number):
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(parts + bytes([number]))


def merged_profile(port, profile_type, start, end):
    """What Pyroscope has of a type between two times in ms, as pprof: a SelectMergeProfileRequest."""
    request = b""
    for field, text in ((1, profile_type), (2, '{service_name="backends-host"}')):
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


receivers = {"PROFCHECK": profcheck, "OTELCOL": collector, "PYROSCOPE": pyroscope}
for variable, check in receivers.items():
    program = os.environ.get(variable)
    if program:
        check(os.path.abspath(program))
    else:
        print(f"skipped: {variable} names no program")
sys.exit(1 if failed else 0)
