# SPDX-License-Identifier: BSD-3-Clause
about="nginx: a master, 2 workers, 400 requests of 6 kinds, reload (HUP), graceful end (QUIT)"
packages="nginx-light python3"
needs="nginx python3"
# SIGUSR2 is nginx's own, for its upgrade, and a line would say so.
more=(CPROF_SIGNAL=none)
at_least wall 200
at_least heap 500

prepare() {
	mkdir -p www
	seq 1 200000 >www/large
	echo hello >www/small
	cat >load.py <<'EOF'
import gzip, hashlib, http.client, sys, threading
port, h = int(sys.argv[1]), [None] * 4
def client(i):
    sums = hashlib.sha1()
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for n in range(int(sys.argv[2])):
        for path, headers in (("/small", {}), ("/large", {}), ("/large", {"Accept-Encoding": "gzip"}), ("/missing", {}),
                              ("/large", {"Range": "bytes=%d-%d" % (n * 100, n * 200 + 10)}), ("/again/small", {})):
            c.request("GET", path, headers=headers)
            r = c.getresponse()
            body = r.read()
            if r.getheader("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            sums.update(b"%d %s" % (r.status, hashlib.sha1(body).digest()))
    h[i] = sums.hexdigest()
threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(h)
EOF
}

reloaded() {
	[ "$(grep -c 'start worker process ' error.log)" -ge 4 ]
}

load() {
	port=$(free_port)
	mkdir tmp
	cat >nginx.conf <<EOF
daemon off; pid $PWD/pid; error_log $PWD/error.log notice; worker_processes 2; user $(id -un);
events { worker_connections 100; }
http {
	access_log $PWD/access.log; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
	gzip on; gzip_types *; default_type text/plain;
	server { listen 127.0.0.1:$port; root $shared/www; location /again/ { rewrite ^/again/(.*) /\$1 break; } }
}
EOF
	serve nginx -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/error.log"
	wait_for takes_connections "$port"
	python3 "$shared/load.py" "$port" 12
	kill -HUP "$server"
	wait_for reloaded
	python3 "$shared/load.py" "$port" 5
	stop_server QUIT
	grep -cE 'exited with code [1-9]|exited on signal' error.log
	grep -E '\[(alert|crit|emerg|error)\]' error.log | grep -v missing | sed 's/^.*\[/[/'
	cut -d' ' -f6- access.log | sort | uniq -c
}

verify() {
	has cpu 'deflate|ngx_|nginx\+0x'
	has wall '^(epoll_wait|__epoll_wait|epoll_pwait).*_start|nginx\+0x'
}
