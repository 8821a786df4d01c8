about="memcached: 4 workers, 8 clients, values that are evicted, SIGTERM"
packages="memcached python3"
needs="memcached python3"
at_least lock 1
at_least heap 100

prepare() {
	cat >load.py <<'EOF'
import hashlib, socket, sys, threading
answers = [None] * 8
def client(i):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    f, h = s.makefile("rwb"), hashlib.sha1()
    for n in range(150):
        f.write((b"set key 0 0 5\r\nhello\r\nget key\r\n" + b"incr count%d 1\r\n" % i) * 50)
        f.write(b"set big%d 0 0 50000\r\n%s\r\n" % (n * 8 + i, b"x" * 50000))
        f.flush()
        for line in range(5 * 50 + 1):
            h.update(f.readline())
    answers[i] = h.hexdigest()
threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(answers)
EOF
}

load() {
	port=$(free_port)
	serve memcached -u "$(id -un)" -t 4 -l 127.0.0.1 -p "$port" -U 0 -m 16
	wait_for takes_connections "$port"
	python3 "$shared/load.py" "$port"
	stop_server TERM
}

# A worker's stack ends in its thread's start.
verify() {
	has cpu 'event_base_loop;.*start_thread;'
	has lock '^pthread_mutex_lock;'
}
