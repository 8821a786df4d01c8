# SPDX-License-Identifier: BSD-3-Clause
# For programs that serve: helpers of loads, sourced by run.sh. Everything listens on the loopback interface only.

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

takes_connections() { # port
	python3 -c "import socket; socket.create_connection(('127.0.0.1', $1))"
}

# Poll until a condition holds; at most 20 seconds.
wait_for() { # command...
	for try in $(seq 400); do
		"$@" >/dev/null 2>&1 && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	echo "the server does not answer: $(tail -n 3 server.out server.err 2>/dev/null)" >&2
	exit 98
}

# End the server; its status is printed, with what it said.
stop_server() { # signal
	kill -"${1:-TERM}" "$server"
	wait "$server"
	echo "server: exit status $?"
}
