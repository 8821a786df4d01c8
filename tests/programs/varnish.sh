# SPDX-License-Identifier: BSD-3-Clause
about="varnish: a manager, a child with 100 threads and one alternate stack for all, 16 clients, VCL compiled, SIGTERM"
packages="varnish gcc python3"
needs="varnishd gcc python3"
at_least lock 100

prepare() {
	cat >backend.py <<'EOF2'
import http.server, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 65536, True
    def do_GET(self):
        body = self.path.encode() * 50
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=%d" % (600 if self.path.endswith("kept") else 0))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 128
with Server(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
EOF2
	cat >load.py <<'EOF2'
import hashlib, http.client, sys, threading
h = [None] * 16
def client(i):
    sums = hashlib.sha1()
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    for n in range(200):
        c.request("GET", "/%d/%s" % (n % 50, "kept" if n % 2 else i))
        r = c.getresponse()
        sums.update(b"%d %s" % (r.status, r.read()))
    h[i] = sums.hexdigest()
threads = [threading.Thread(target=client, args=(i,)) for i in range(16)]
for t in threads: t.start()
for t in threads: t.join()
print(h)
EOF2
}

load() {
	python3 "$shared/backend.py" >port 2>backend.err &
	backend=$!
	trap 'kill $backend; wait $backend 2>/dev/null' EXIT
	server=$backend
	wait_for test -s port
	port=$(free_port)
	serve varnishd -F -j none -s malloc,32m -n "$PWD/n" -a "127.0.0.1:$port" -b "127.0.0.1:$(cat port)"
	wait_for takes_connections "$port"
	python3 "$shared/load.py" "$port"
	stop_server TERM
	grep -hE '^Error: (Child|.*[Pp]anic)|^Assert|not responding' server.out server.err
	true
}

verify() {
	has cpu 'start_thread|varnishd\+0x'
	has lock '^pthread_mutex_lock;|^pthread_cond_'
}
