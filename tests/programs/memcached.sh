# SPDX-License-Identifier: BSD-3-Clause
about="memcached: 4 workers, 8 clients, values that are evicted, SIGTERM"
packages="memcached python3"
needs="memcached python3"
at_least lock 1
at_least heap 100

load() {
	port=$(free_port)
	serve memcached -u "$(id -un)" -t 4 -l 127.0.0.1 -p "$port" -U 0 -m 16
	wait_for takes_connections "$port"
	python3 "$here/../lib/memcached-load.py" "$port" 50000
	stop_server TERM
}

# A worker's stack ends in its thread's start.
verify() {
	has cpu 'event_base_loop;.*start_thread;'
	has lock '^pthread_mutex_lock;'
}
