# SPDX-License-Identifier: BSD-3-Clause
# CPROF_SERVE: the helper that serves is no child of the program, raises no signal, has none of its descriptors, and ends
# after it. No mode need be on. It serves all processes that name its address, and no others.
. "$srcdir/tests/lib/control.sh"
need curl
$python -c 'import ctypes; ctypes.CDLL("libmicrohttpd.so.12")' 2>/dev/null || skip "libmicrohttpd12 is not installed"
export CPROF_CACHE= XDG_STATE_HOME=$work/state no_proxy=127.0.0.1
pushed=tests/traps/push_helper/push-host
host=$builddir/$pushed
# An address of our own on the loopback interface, whoever else runs this test.
address=127.$((RANDOM % 200 + 20)).$(($$ / 256 % 256)).$(($$ % 254 + 1)):6060
cd "$work"

get() { # path
	curl -s -m 30 "http://$address$1"
}

helpers() {
	pgrep -f "^cprof serve -helper $address"
}

none_left() {
	! helpers >/dev/null
}

program() { # name settings...
	local name=$1
	shift
	env LD_PRELOAD="$CP_LIBRARY" "$@" "$host" 0 >"$name.out" 2>"$name.err" &
	pid=$!
	owns $pid
}

# Who starts the helper is there for a moment, on a busy machine for longer.
has_no_child() { # pid
	[ -z "$(cat /proc/"$1"/task/*/children 2>/dev/null)" ]
}

ends() { # name pid
	reap "$2"
	check_ended "$1" 3 bare
}

# Too short for a helper, which comes after a second; where processors are scarce the program may live as long.
bare bare "$host" 0.05
before=${EPOCHREALTIME/[.,]/}
profiled short env CPROF_SERVE="$address" "$host" 0.05
check_status short 3
check_same_output short bare
took=$((${EPOCHREALTIME/[.,]/} - before))
none_left || [ $took -ge 1000000 ] || harm "short: a helper is started: $(helpers)"
wait_for 60 none_left || harm "short: its helper stays: $(helpers)"

program one CPROF_SERVE="$address"
one=$pid
answers() {
	[ "$(get /debug/pprof/cmdline)" = "$host" ]
}
wait_for 60 answers || fail "nobody serves: $(cat state/cprof/serve.log)"
for helper in $(helpers); do
	! ls -l "/proc/$helper/fd" | grep -q "$work/one" || harm "the helper has descriptors of the program"
done
get "/debug/pprof/profile?seconds=1" >cpu.pb
check_valid cpu.pb
check_stack cpu.pb 'burn;work;main'

# Further helpers for the address end at once, however many come.
for _ in 1 2 3 4 5; do
	timeout 60 "$cprof" serve -helper "$address" || harm "a further helper stays: status $?"
done

# Another process with the same address, and one that names none.
program two CPROF_SERVE="$address"
two=$pid
program other CPROF_CONTROL=on
other=$pid
has_two() {
	[ "$(get /targets | grep -o '"pid": *"[0-9]*"' | tr -dc '0-9\n' | sort -n | xargs)" = "$(printf '%s\n' $one $two | sort -n | xargs)" ]
}
wait_for 60 has_two || fail "targets: $(get /targets)"
status_of() { # path
	curl -s -m 30 -o /dev/null -w '%{http_code}' "http://$address$1"
}
[ "$(status_of /pid/$two/debug/pprof/cmdline)" = 200 ] || fail "the second is not served"
wait_for 60 has_socket $other || fail "the other has no socket"
[ "$(status_of /pid/$other/debug/pprof/cmdline)" = 404 ] || fail "a process is served that does not ask for it"

for each in $one $two; do
	wait_for 60 has_no_child "$each" || harm "process $each has a child"
done
touch go
ends one $one
ends two $two
ends other $other
wait_for 60 none_left || harm "a helper is left: $(helpers)"

# The server is killed: it is not started again, and its helper ends.
rm go
program lone CPROF_SERVE="$address"
lone=$pid
answers_alone() {
	[ "$(get /debug/pprof/cmdline)" = "$host" ]
}
wait_for 60 answers_alone || fail "lone: nobody serves: $(cat state/cprof/serve.log)"
oldest=$(pgrep -o -f "^cprof serve -helper $address")
kill -9 "$(pgrep -o -P "$oldest")"
wait_for 60 none_left || harm "lone: a helper is left after its server was killed: $(helpers)"
touch go
ends lone $lone

# The address is taken: the program runs on.
$python - "$address" >taken <<'EOF' &
import socket, sys, time
s = socket.socket()
s.bind((sys.argv[1].split(":")[0], 6060))
s.listen()
print("up", flush=True)
time.sleep(60)
EOF
taken=$!
owns $taken
wait_for 60 test -s taken || fail "the address can't be taken"
rm go
rm state/cprof/serve.log
program refused CPROF_SERVE="$address"
wait_for 60 grep -qs 'Address already in use' state/cprof/serve.log || fail "refused: $(cat state/cprof/serve.log)"
wait_for 60 has_no_child $pid || harm "refused: it has a child"
touch go
ends refused $pid
wait_for 60 none_left || harm "refused: a helper is left"
kill $taken
finish
