# SPDX-License-Identifier: BSD-3-Clause
"""usage: push-receiver.py DIRECTORY

A receiver of profiles on the loopback interface, for tests of `cprof push`. It takes what Pyroscope (push.v1 and
/ingest), Parca, an OpenTelemetry Collector and Datadog's agent take, and checks each request against their published
messages and limits.

DIRECTORY/port     the port, written when the receiver is ready
DIRECTORY/answer   what it answers: "200" if the file isn't there, else a status, with seconds for Retry-After
                   ("429 1"), or "reset", "silent", "slow"; "200 samples=N": profiles of more samples get 413
DIRECTORY/log      a line for each request: ANSWER PATH CONTENT-TYPE NAME LABELS samples=N types=... period=... from= duration=
DIRECTORY/tls.pem  if it is there, the receiver speaks TLS with this key and these certificates
DIRECTORY/headers  headers of the last request
DIRECTORY/N.pb     the profiles that were taken; N.otlp those in OpenTelemetry's format
"""
import base64, gzip, http.server, json, os, re, socket, ssl, struct, sys, time, urllib.parse

home = sys.argv[1]
count = 0


class Wrong(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Wrong(what)


# ---- messages ----


def fields(data):
    """The fields of a protobuf message, each a pair of its number and its value."""
    at = 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            need(at < len(data) and shift < 70, "varint is cut")
            byte = data[at]
            at += 1
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            at += 8
            yield key >> 3, data[at - 8 : at]
        elif key & 7 == 5:
            at += 4
            yield key >> 3, data[at - 4 : at]
        else:
            need(key & 7 == 2, "wire type")
            size = varint()
            need(at + size <= len(data), "field is cut")
            at += size
            yield key >> 3, data[at - size : at]


def signed(n):
    return n - (1 << 64) if n >> 63 else n


def numbers(value):
    """A packed or single repeated number."""
    if isinstance(value, int):
        return [value]
    out, n, shift = [], 0, 0
    for byte in value:
        n |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            out.append(n)
            n = shift = 0
    return out


class Profile:
    """What a receiver looks at in a gzipped pprof profile."""

    def __init__(self, packed):
        need(packed[:2] == b"\x1f\x8b", "profile isn't gzipped")
        raw = gzip.decompress(packed)
        self.size, self.samples, self.labels, self.comments = len(raw), 0, set(), 0
        strings, types, period, locations, functions = [], [], (0, 0), set(), set()
        self.time = self.duration = 0
        for number, value in fields(raw):
            if number == 6:
                strings.append(value.decode())
            elif number == 1:
                types.append(dict(fields(value)))
            elif number == 2:
                self.samples += 1
                values = []
                for n, v in fields(value):
                    if n == 1:
                        locations.update(numbers(v))
                    elif n == 2:
                        values += [signed(x) for x in numbers(v)]
                    elif n == 3:
                        self.labels.add(dict(fields(v)).get(1))
                need(all(v >= 0 for v in values), "a value below 0")
                need(any(values), "a sample of nothing")
            elif number == 4:
                f = [v for n, v in fields(value) if n == 4]
                functions.update(dict(fields(line)).get(1) for line in f)
            elif number == 9:
                self.time = value
            elif number == 10:
                self.duration = value
            elif number == 11:
                period = dict(fields(value))
                period = (period.get(1, 0), period.get(2, 0))
            elif number == 13:
                self.comments += 1
        need(strings and strings[0] == "", "string table")
        need(functions and 0 not in functions, "locations have no functions")
        need(not self.comments, "comments leave the machine")
        self.types = [f"{strings[t.get(1, 0)]}:{strings[t.get(2, 0)]}" for t in types]
        self.period = ":".join(strings[i] for i in period)
        self.labels = sorted(strings[i] for i in self.labels)


# ---- what each receiver checks ----

# Pyroscope's defaults.
SAMPLES_MAX, SIZE_MAX = 16000, 4 << 20
LABEL = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*$")


def check_labels(labels):
    need("__name__" in labels and "service_name" in labels, f"labels {labels}")
    for key, value in labels.items():
        need(LABEL.match(key) and len(value) <= 2048, f"label {key}")
    need(len(labels) <= 30, "too many labels")


def take_pyroscope(request, body):
    need(request.headers["Content-Type"] == "application/proto", "content type")
    need(request.headers["Connect-Protocol-Version"] == "1", "Connect-Protocol-Version")
    for number, series in fields(body):
        need(number == 1, "PushRequest")
        labels, samples = {}, []
        for n, v in fields(series):
            pair = dict(fields(v))
            if n == 1:
                labels[pair[1].decode()] = pair[2].decode()
            else:
                need(n == 2 and re.match(rb"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", pair[2]), "RawSample")
                samples.append(pair[1])
        need(labels.pop("__delta__") == "false", "a window is no sum")
        check_labels(labels)
        for packed in samples:
            p = Profile(packed)
            need(p.samples <= SAMPLES_MAX and p.size <= SIZE_MAX, f"exceeds the limit: {p.samples}, {p.size} bytes")
            yield labels, p, packed


def take_parca(request, body):
    need(request.headers["Content-Type"] == "application/json", "content type")
    message = json.loads(body)
    need(message["normalized"] is False, "normalized")
    for series in message["series"]:
        labels = {l["name"]: l["value"] for l in series["labels"]["labels"]}
        check_labels(labels)
        for sample in series["samples"]:
            packed = base64.b64decode(sample["rawProfile"], validate=True)
            yield labels, Profile(packed), packed


def parts(request, body):
    match = re.match(r"^multipart/form-data; boundary=([0-9a-f]+)$", request.headers["Content-Type"])
    need(match, "content type")
    boundary = b"--" + match[1].encode()
    pieces = body.split(boundary)
    need(pieces[0] == b"" and pieces[-1] == b"--\r\n", "boundaries")
    for piece in pieces[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"; filename="([^"]*)"', head)
        need(name and content.endswith(b"\r\n"), "a part")
        yield name[1].decode(), name[2].decode(), content[:-2]


def take_ingest(request, body):
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
    match = re.match(r"^([^{]+)\{(.*)\}$", query["name"][0])
    need(match, "name")
    labels = dict(pair.split("=", 1) for pair in match[2].split(",") if pair)
    labels.update(service_name=match[1], __name__="ingest")
    need(int(query["from"][0]) <= int(query["until"][0]), "from and until")
    check_labels(labels)
    found = {name: content for name, _, content in parts(request, body)}
    need(set(found) == {"profile", "sample_type_config"}, "parts")
    p = Profile(found["profile"])
    config = json.loads(found["sample_type_config"])
    need(all(t.split(":")[0] in config for t in p.types), "sample_type_config")
    yield labels, p, found["profile"]


def take_datadog(request, body):
    found = list(parts(request, body))
    need(found[0][:2] == ("event", "event.json"), "event")
    event = json.loads(found[0][2])
    need(event["version"] == "4" and event["family"] == "native", "event")
    need(event["attachments"] == [name for name, _, _ in found[1:]], "attachments")
    need(event["start"] < event["end"], "times")
    labels = dict(tag.split(":", 1) for tag in event["tags_profiler"].split(","))
    labels.update(__name__=found[1][0], service_name=labels["service"])
    yield labels, Profile(found[1][2]), found[1][2]


def take_otlp(request, body):
    need(request.headers["Content-Type"] == "application/x-protobuf", "content type")
    message = list(fields(body))
    resources = [v for n, v in message if n == 1]
    dictionary = [v for n, v in message if n == 2]
    need(len(resources) == 1 and len(dictionary) == 1, "one dictionary")
    tables = {}
    for n, v in fields(dictionary[0]):
        tables.setdefault(n, []).append(v)
    strings = [s.decode() for s in tables[5]]
    need(strings[0] == "", "string 0")
    labels = {"__name__": "otlp"}
    count, types = 0, []
    for n, v in fields(resources[0]):
        if n == 1:
            for k, attribute in fields(v):
                pair = dict(fields(attribute))
                value = dict(fields(pair[2]))
                value = value.get(1, value.get(3))
                labels[pair[1].decode().replace(".", "_")] = value.decode() if isinstance(value, bytes) else str(value)
        else:
            for k, profile in fields(v):
                for m, w in fields(profile) if k == 2 else ():
                    if m == 1:
                        t = dict(fields(w))
                        types.append(f"{strings[t.get(1, 0)]}:{strings[t.get(2, 0)]}")
                    elif m == 2:
                        count += 1
    check_labels(labels)
    need(len(tables.get(3, [])) > 1, "functions")
    p = Profile.__new__(Profile)
    p.samples, p.types, p.labels, p.period, p.time, p.duration = count, types, [], "", 0, 0
    yield labels, p, body


takers = {
    "/push.v1.PusherService/Push": take_pyroscope,
    "/ingest": take_ingest,
    "/api/profiles/writeraw": take_parca,
    "/v1development/profiles": take_otlp,
    "/profiling/v1/input": take_datadog,
}


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, text="{}", after=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if after:
            self.send_header("Retry-After", after)
        self.end_headers()
        self.wfile.write(text.encode())

    def log(self, answer, labels=None, p=None):
        path = self.path.split("?")[0]
        line = f"{answer} {path}"
        if p:
            line += f" {labels['__name__']} samples={p.samples} types={','.join(p.types)} period={p.period}"
            line += f" from={p.time} duration={p.duration} keys={','.join(p.labels)}"
            line += "".join(f" {k}={v}" for k, v in sorted(labels.items()) if k != "__name__")
        with open(f"{home}/log", "a") as f:
            f.write(line + "\n")

    def do_POST(self):
        global count
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(f"{home}/headers", "w") as f:
            f.write(str(self.headers))
        try:
            with open(f"{home}/answer") as f:
                answer = f.read().split()
        except FileNotFoundError:
            answer = ["200"]
        if answer[0] == "reset":
            self.log("reset")
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        if answer[0] == "silent":
            self.log("silent")
            while os.path.exists(f"{home}/answer"):
                time.sleep(0.02)
            self.close_connection = True
            return
        if answer[0] not in ("200", "slow"):
            self.log(answer[0])
            self.reply(int(answer[0]), '{"code":"told","message":"as the test says"}', *answer[1:])
            return
        try:
            taken = list(takers[self.path.split("?")[0]](self, body))
            most = int(answer[1][8:]) if len(answer) > 1 else None
            if most is not None and any(p.samples > most for _, p, _ in taken):
                self.log("413")
                self.reply(413)
                return
        except (Wrong, KeyError, ValueError, IndexError) as e:
            self.log(f"wrong: {e!r}")
            self.reply(400, json.dumps({"code": "invalid_argument", "message": str(e)}))
            return
        if answer[0] == "slow":
            time.sleep(1)
        for labels, p, packed in taken:
            self.log("200", labels, p)
            suffix = "otlp" if labels["__name__"] == "otlp" else "pb"
            with open(f"{home}/{count}.{suffix}", "wb") as f:
                f.write(packed)
            count += 1
        self.reply(200)

    def log_message(self, *unused):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *unused):
        pass


server = Server(("127.0.0.1", 0), Receiver)
if os.path.exists(f"{home}/tls.pem"):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(f"{home}/tls.pem")
    # The handshake is made by the connection's own thread, when it first reads.
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(f"{home}/port.new", "w") as f:
    f.write(str(server.server_port))
os.rename(f"{home}/port.new", f"{home}/port")
server.serve_forever()
