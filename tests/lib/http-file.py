# SPDX-License-Identifier: BSD-3-Clause
"""usage: http-file.py PORT-FILE FILE

Serves HTTP on the loopback interface, at a free port, which is written to PORT-FILE: any GET is answered by FILE's
bytes, what is POSTed becomes FILE's.
"""
import http.server, sys


class File(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with open(sys.argv[2], "rb") as f:
            self.answer(f.read())

    def do_POST(self):
        with open(sys.argv[2], "wb") as f:
            f.write(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(b"")

    def log_message(self, *unused):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), File)
with open(sys.argv[1], "w") as f:
    f.write(str(server.server_port))
server.serve_forever()
