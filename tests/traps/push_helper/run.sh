# SPDX-License-Identifier: BSD-3-Clause
# CPROF_PUSH: the helper that pushes windows is no child of the program, raises no signal, has none of its descriptors,
# and ends after it. A process that is too short for a helper arrives, too; so does each of a fork, under its own number.
. "$srcdir/tests/lib/push.sh"
limit=$bounded
export CPROF_SYMBOLIZE=full CPROF_CACHE=
python=/usr/bin/python3
[ -x $python ] || python=python3
host=$builddir/tests/traps/push_helper/push-host
cd "$work"
receiver first

pushed() { # name arguments...
	: >first/log
	profiled "$1" env CPROF_PUSH="$url" CPROF_PUSH_TOKEN=abc CPROF_PUSH_TENANT=team OTEL_SERVICE_NAME="$1" "$host" "${@:2}"
	check_ended "$1" 3 bare
	check_valid "$1.pb"
}

helpers() {
	pgrep -f "^cprof push -(helper|ended|ended -lines) $url"
}

none_left() {
	! helpers
}

# The task that starts the helper is gone. Until then a wait with __WALL finds it (docs/limits.md).
is_alone() { # pid
	! pgrep -P "$1" >/dev/null
}

arrives() { # name
	wait_for 60 has_got "^200 .* process_cpu .*service_name=$1\$" || fail "$1 does not arrive: $(cat first/log state/cprof/push.log)"
	wait_for 60 none_left || harm "$1: a helper is left: $(helpers)"
	got '^wrong' 0
}

bare bare "$host" 0.05

# ---- too short for a helper of its own ----
pushed short 0.05
if [ ! -s short.pb ]; then fail "no file"; fi
arrives short
grep -qi '^authorization: bearer abc' first/headers || fail "short: no credentials: $(cat first/headers)"

# ---- with a helper while it runs: it ends when its file "go" is there ----
# A helper at exit has a time limit, a second here. This one outlives it, as it serves as long as the program runs.
: >first/log
env _CPROF_HELPER_SECONDS=5,1 LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/long.pb" CPROF_PUSH="$url" OTEL_SERVICE_NAME=long "$host" 0 >long.out 2>long.err &
pid=$!
owns $pid
wait_for 60 helpers || fail "no helper"
helper=$(helpers | head -n 1)
sockets() { # what the helper has open of the program: its output
	ls -l "/proc/$helper/fd" | grep -c "$work/long"
}
[ "$(sockets)" = 0 ] || harm "the helper has descriptors of the program"
has_run() { # pid seconds: it has run so long, or has ended
	! [ "$(ps -o etimes= -p "$1")" -lt "$2" ]
}
wait_for 60 has_run "$helper" 3
kill -0 "$helper" || fail "long: the helper ended before the program"
name=$(for inode in $(ls -l "/proc/$helper/fd" | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p'); do
	awk -v inode="$inode" '$7 == inode && $8 ~ /^@libcprof-push/ { print substr($8, 2) }' /proc/net/unix
done)
# Strangers who connect don't keep another helper from seeing that this one is there.
cat >stranger.py <<'END'
import socket, sys, time
def connected():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.setblocking(False)
    s.connect("\0" + sys.argv[2])
    return s
def bound(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.bind("\0" + name)
    return s
held = []
if sys.argv[1] == "takes":
    own = bound(sys.argv[2])
    own.listen(0)
    mute = [bound(n) for n in sys.argv[3:]]
try:
    while len(held) < 200:
        held.append(connected())
except BlockingIOError:
    pass
print("up", flush=True)
time.sleep(100)
END
$python stranger.py connects "$name" >stranger.out &
stranger=$!
owns $stranger
wait_for 60 grep -q up stranger.out || fail "long: nobody connects to $name"
timeout -s KILL 20 "$builddir/cprof" push -helper "$url" >another.out 2>&1 || fail "long: another helper: status $?"
[ "$(helpers)" = "$helper" ] || harm "long: helpers: $(helpers)"
kill $stranger
touch go
reap $pid
check_status long 3
check_same_output long bare
arrives long
[ "$(logged '^200')" -ge 1 ] || fail "long: $(cat first/log)"
rm go

# ---- the helper is started, but the program has ended when it looks, as on a busy machine ----
cat >late <<EOF
#!$BASH
if [ "\$2" = -helper ]; then
	touch "$work/begun"
	until [ -e "$work/look" ]; do sleep 0.05; done
fi
exec -a cprof "$cprof" "\$@"
EOF
chmod +x late
: >first/log
env _CPROF_HELPER="$work/late" LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/late.pb" CPROF_PUSH="$url" OTEL_SERVICE_NAME=late "$host" 0 >late.out 2>late.err &
pid=$!
owns $pid
wait_for 60 test -e begun || fail "late: no helper"
wait_for 60 is_alone $pid || harm "late: it has a child"
touch go
reap $pid
touch look
rm go
check_status late 3
check_same_output late bare
arrives late
got '^200' 1

# ---- another user has taken two of the helper's names: at one nobody accepts, at the other one nobody even listens ----
if [ "$(id -u)" = 0 ]; then
	chmod a+rx . stranger.py
	wait_for 60 none_left || fail "taken: the helper before has the name"
	setpriv --reuid=65534 --clear-groups --regid=65534 $python - takes "$name" "${name%.*}.1" <stranger.py >squatter.out &
	stranger=$!
	owns $stranger
	wait_for 60 grep -q up squatter.out || fail "taken: the name $name is not"
	: >first/log
	env _CPROF_HELPER_SECONDS=5,120 LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/taken.pb" CPROF_PUSH="$url" OTEL_SERVICE_NAME=taken "$host" 0 >taken.out 2>taken.err &
	pid=$!
	owns $pid
	wait_for 60 grep -qF "@${name%.*}.2" /proc/net/unix || fail "taken: no helper under another name"
	wait_for 60 is_alone $pid || harm "taken: it has a child"
	touch go
	reap $pid
	rm go
	check_status taken 3
	arrives taken
	kill $stranger
	wait $stranger 2>/dev/null || true

	# ---- all names are taken; and the directory of the log is one where that user has put a pipe in its place ----
	setpriv --reuid=65534 --clear-groups --regid=65534 $python - takes "$name" "${name%.*}".{1..7} <stranger.py >squatter.out &
	stranger=$!
	owns $stranger
	wait_for 60 grep -q up squatter.out || fail "all taken: the names are not"
	: >first/log
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/all.pb" CPROF_PUSH="$url" OTEL_SERVICE_NAME=all "$host" 0 >all.out 2>all.err &
	pid=$!
	owns $pid
	wait_for 60 helpers || fail "all taken: no helper"
	wait_for 60 is_alone $pid || harm "all taken: it has a child"
	touch go
	reap $pid
	rm go
	check_status all 3
	arrives all
	kill $stranger
	[ -z "$(find state -name '*.lock' -path 'state/cprof/push-*')" ] || fail "a lock is left: $(ls state/cprof)"
	mkdir -m 777 open
	setpriv --reuid=65534 --clear-groups --regid=65534 sh -c 'mkdir open/cprof && mkfifo open/cprof/push.log'
	: >first/log
	XDG_STATE_HOME=$work/open pushed strange-log 0.05
	arrives strange-log
	[ -p open/cprof/push.log ] || harm "another user's file is gone"
	mkdir -p own/cprof
	echo precious >precious
	ln -s "$work/precious" own/cprof/push.log
	: >first/log
	XDG_STATE_HOME=$work/own pushed linked-log 0.05
	arrives linked-log
	[ "$(cat precious)" = precious ] || harm "the log is written through a link"
fi

# ---- each process of a fork, under its own number ----
pushed forks 0.3 fork
arrives forks
two() {
	[ "$(grep -o 'pid=[0-9]*' first/log | sort -u | wc -l)" = 2 ]
}
wait_for 60 two || fail "forks: $(cat first/log)"
wait_for 60 none_left || harm "forks: a helper is left"

# ---- killed: the helper ends, too ----
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/killed.pb" CPROF_PUSH="$url" "$host" 0 >killed.out 2>killed.err &
pid=$!
owns $pid
wait_for 60 helpers || fail "no helper"
kill -9 $pid
wait $pid 2>/dev/null
wait_for 60 none_left || harm "killed: a helper is left"

# ---- a helper that is killed is started again, and goes on where the first one was: nothing is lost, nothing twice ----
mkdir pushed
url=dir:$work/pushed
follower_of() { # pid
	$python "$srcdir/tests/lib/control-client.py" ask "libcprof/$1" 2>/dev/null | sed -n 's/^follower=//p'
}
is_followed() { # pid but-not-by
	follower=$(follower_of "$1")
	[ "$follower" ] && [ "$follower" != "$2" ]
}
env _CPROF_HELPER_SECONDS=5,120,1 LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/again.pb" CPROF_PUSH="$url" "$host" 0 >again.out 2>again.err &
pid=$!
owns $pid
wait_for 60 is_followed $pid none || fail "again: no helper follows"
first=$follower
kill -9 "$first"
wait_for 60 is_followed $pid "$first" || fail "again: no other helper after the first was killed"
wait_for 60 is_alone $pid || harm "again: it has a child"
touch go
reap $pid
rm go
check_status again 3
check_same_output again bare
[ ! -s again.err ] || harm "again says: $(cat again.err)"
wait_for 60 none_left || harm "again: a helper is left: $(helpers)"
sum() {
	for file; do "$pprof_check" --raw "$file"; done | awk -F'\t' '{ split($1, v, ","); sum += v[2] } END { printf "%.0f\n", sum }'
}
[ "$(sum pushed/*.cpu.window.pb)" = "$(sum again.pb)" ] || fail "again: $(sum pushed/*.cpu.window.pb) pushed, $(sum again.pb) in the file"

# ---- without the tool, and without a receiver, the program runs on, and its file is written ----
_CPROF_HELPER=/nonexistent pushed no-tool 0.05
url=http://127.0.0.1:1 pushed no-receiver 0.05
finish
