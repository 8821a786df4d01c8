# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests of the control socket: a program that is told what to do (control-host.c), and clients.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3 timeout
# The one that every user may run.
python=/usr/bin/python3
[ -x $python ] || python=python3

# Starts control-host as NAME, under the library, with settings. Its process is $pid, its input $told.
host() { # name settings...
	hosted=$1
	shift
	mkfifo "$work/$hosted.in"
	env LD_PRELOAD="$CP_LIBRARY" "$@" "$builddir/tests/traps/hosts/control-host" \
		<"$work/$hosted.in" >"$work/$hosted.out" 2>"$work/$hosted.err" &
	pid=$!
	owns $pid
	exec {told}>"$work/$hosted.in"
	wait_for 60 grep -q '^up' "$work/$hosted.out" || fail "$hosted doesn't come up"
}

# The same, until cprof ps lists it with MODES, or with "-" for none.
listed_host() { # name modes settings...
	local modes=$2
	host "$1" "${@:3}"
	wait_for 60 lists $pid "$modes" || fail "$hosted: no control socket: $("$cprof" ps)"
}

# Runs cprof beside the test, until it says what matches: in NAME.said, its process is $consumer.
beside() { # name regex arguments...
	"$cprof" "${@:3}" >"$work/$1.said" 2>&1 &
	consumer=$!
	owns $consumer
	wait_for 60 grep -q -- "$2" "$work/$1.said" || fail "$1: $(cat "$work/$1.said")"
}

# Has the last host do something, and waits until it is done. What it says of it is in $answer.
tell() { # what...
	local before
	before=$(wc -l <"$work/$hosted.out")
	echo "$*" >&$told
	wait_for 60 has_done "$before" "$*" || harm "$hosted does not do $*"
	answer=$(sed -n "$((before + 1)),\$p" "$work/$hosted.out" | grep -v '^did')
}

# The last host executes itself.
tell_exec() {
	echo exec >&$told
	wait_for 60 came_up_again || harm "$hosted does not come up after its exec"
}

came_up_again() {
	[ "$(grep -c '^up' "$work/$hosted.out")" -ge 2 ]
}

has_done() { # lines what
	sed -n "$(($1 + 1)),\$p" "$work/$hosted.out" | grep -qxF "did $2"
}

end_host() {
	echo end >&$told
	exec {told}>&-
	status=0
	wait "$pid" || status=$?
}

# The name of process PID's socket is there.
has_socket() { # pid
	grep -q " @libcprof/$1\$" /proc/net/unix
}

lists() { # pid [modes]
	"$cprof" ps 2>/dev/null | grep -qE "^ *$1 ${2+$2 }"
}

answers() { # pid [as-user...]
	local who=$1
	shift
	timeout 20 "$@" $python "$srcdir/tests/lib/control-client.py" ask "libcprof/$who" >/dev/null
}

# Runs cprof as NAME: its status is $status.
cprof() { # name arguments...
	name=$1
	shift
	status=0
	timeout 60 "$cprof" "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
}

says() { # name regex
	grep -qE -- "$2" "$work/$1.out" "$work/$1.err" || fail "$1 doesn't say $2: $(cat "$work/$1.out" "$work/$1.err")"
}

refused() { # name regex
	check_status "$1" 2
	says "$1" "$2"
}

# Starts serve-host as NAME, in the current folder. Its process is $pid, and it ends with $told.
app() { # name
	mkfifo "$1.in"
	env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on "$builddir/tests/e2e/serve-host" <"$1.in" >"$1.out" 2>"$1.err" &
	pid=$!
	owns $pid
	exec {told}>"$1.in"
	wait_for 60 lists $pid - || fail "$1: no control socket"
}
