# SPDX-License-Identifier: BSD-3-Clause
# A control socket with a path (CPROF_CONTROL=/PATH) is reached from another network namespace. Its file is private, is
# removed at the end and at an exec, replaces one that a killed process has left, and never anything else.
. "$srcdir/tests/lib/control.sh"
need unshare
cd "$work"
path=$work/s

# Binds a socket; "listener": somebody listens at it.
cat >binds.py <<'EOF'
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
if sys.argv[2] == "listener":
    s.listen(5)
    if not os.fork():
        time.sleep(20)
EOF

asks() { # name regex arguments...
	local said
	said=$(timeout 60 "$cprof" "${@:3}" 2>&1) || harm "$1: cprof ${*:3}: status $?: $said"
	grep -qE -- "$2" <<<"$said" || fail "$1: cprof ${*:3} doesn't say $2: $said"
}

answers_at() { # path
	timeout 20 "$cprof" ps "$1" >/dev/null 2>&1
}

is_ours() { # path
	[ "$(stat -c '%F %a' "$1" 2>/dev/null)" = 'socket 600' ]
}

# The host that runs in a network namespace: unshare becomes it by an exec.
apart=
for way in 'unshare -n' 'unshare -rn'; do
	[ "$apart" ] || ! $way true 2>/dev/null || apart=$way
done
mkfifo apart.in
env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL="$path" $apart "$builddir/tests/traps/hosts/control-host" <apart.in >apart.out 2>apart.err &
pid=$! hosted=apart
first=$pid
owns $pid
exec {told}>apart.in
wait_for 60 grep -q '^up' apart.out || fail "apart doesn't come up"
wait_for 60 answers_at "$path" || harm "no answer at the path"
is_ours "$path" || harm "the file: $(stat -c '%F %a' "$path")"
asks apart "^ *$pid - .* control-host" ps "$path"
asks apart "cpu profile of process $path goes to $work/apart.pb" start -cpu=1000 -o "$work/apart.pb" "$path"
tell burn-and-tick 0.2
asks apart "process $path: CPUPROFILE_FREQUENCY=500, before: 1000" set -cpu=500 "$path"
asks apart "of process $path, in" threads "$path"
asks apart "cpu profile of process $path is in $work/apart.pb" stop "$path"
check_valid apart.pb
check_stack apart.pb 'burn;.*main'
asks apart 's\.cpu\.pb' record -for=200ms "$path"
check_valid s.cpu.pb
"$cprof" push "dir:$work/pushed" -every=1s -verbose -cpu=1000 "$path" >push.said 2>&1 &
push=$!
owns $push
wait_for 60 grep -q "$path (control-host) is followed" push.said || fail "push: $(cat push.said)"
tell burn-and-tick 0.2
has_window() { [ "$(find pushed -name '*.cpu.window.pb' 2>/dev/null)" ]; }
wait_for 60 has_window || fail "push: no window: $(cat push.said)"
kill -TERM $push
wait $push || fail "push: status $?: $(cat push.said)"
check_stack "$(find pushed -name '*.cpu.window.pb' | sort | head -n 1)" 'burn;.*main'
if $python -c 'import ctypes; ctypes.CDLL("libmicrohttpd.so.12")' 2>/dev/null; then
	"$cprof" serve -http=127.0.0.1:0 "$path" >serve.said 2>&1 &
	serve=$!
	owns $serve
	wait_for 60 grep -q "serving process $pid at" serve.said || fail "serve: $(cat serve.said)"
	kill -TERM $serve
	wait $serve || fail "serve: status $?"
fi
[ "$apart" ] || echo "# no network namespace here"
# A fork's child has a file of its own, which SIGKILL leaves.
tell fork
child=${answer#child }
wait_for 60 answers_at "$path.$child" || harm "no answer of the child"
is_ours "$path.$child" || harm "the child's file: $(stat -c '%F %a' "$path.$child")"
answers_at "$path" || harm "the parent's file is gone"
kill -KILL "$child"
# An exec goes on at the same path.
tell_exec
wait_for 60 answers_at "$path" || harm "no answer after an exec"
# Somebody else with the same path stands beside it.
host beside CPROF_CONTROL="$path"
wait_for 60 answers_at "$path.$pid" || harm "no answer beside"
asks beside "^ *$pid - " ps "$path.$pid"
end_host
[ ! -e "$path.$pid" ] || harm "the file beside is left"
answers_at "$path" || harm "the first one's file is gone"
kill -KILL $first
wait $first 2>/dev/null
[ -S "$path" ] || fail "SIGKILL left no file: nothing to replace"

# The next process replaces it, and removes it at its end.
host next CPROF_CONTROL="$path"
next=$pid
wait_for 60 answers_at "$path" || harm "a stale file is not replaced"
is_ours "$path" || harm "the next file: $(stat -c '%F %a' "$path")"
asks next "^ *$next - " ps "$path"
end_host
check_status next 0
[ ! -e "$path" ] || harm "the file is left at the end"
[ ! -s next.err ] || harm "next says: $(cat next.err)"

# Other files stay as they are.
echo keep >file
ln -s "$work/target" link
for at in file link no/such/place; do
	host odd-${at%%/*} CPROF_CONTROL="$work/$at"
	wait_for 60 has_socket $pid || harm "$at: no abstract socket"
	end_host
	check_status odd-${at%%/*} 0
	[ "$(grep -c 'CPROF_CONTROL: no control socket at' odd-${at%%/*}.err)" = 1 ] || fail "$at: says $(cat odd-${at%%/*}.err)"
done
[ "$(cat file)" = keep ] && [ -L link ] && [ ! -e target ] || harm "files are replaced: $(ls -l)"
host long CPROF_CONTROL="/$(printf 'x%.0s' {1..90})" CPUPROFILE="$work/long.pb"
grep -q 'CPROF_CONTROL=/x*\.\.\.: accepted is a path of up to 90 bytes; using auto' long.err || fail "long says: $(cat long.err)"
end_host
ls -d -- *~* 2>/dev/null && harm "a temporary name is left"
# Nor is a file left by processes that end, or become a program without the library, while theirs is being made.
for _ in {1..12}; do
	env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL="$work/short" bash -c 'for i in 1 2 3 4; do (:); (exec env -i true); env true; done
		exec env -i true' || harm "short: status $?"
done
ls -d short* 2>/dev/null && harm "short processes leave files"
# An exec that fails gives the file back.
host back CPROF_CONTROL="$work/back"
wait_for 60 answers_at "$work/back" || harm "no answer before a failed exec"
tell exec-fails
wait_for 60 answers_at "$work/back" || harm "no answer after a failed exec"
end_host
status=0
timeout 20 "$cprof" ps "$path" >gone.out 2>gone.err || status=$?
check_status gone 2
grep -q "$path: no control socket: No such file or directory" gone.err || fail "gone: $(cat gone.err)"
# The name of the socket before it is renamed is somebody else's: of a file, of another process's socket, of one that a
# process with this number left.
for before in file listener left; do
	sh -c 'case $1 in
		file) echo precious >"$2~$$" ;;
		*) $3 "$4" "$2~$$" "$1" || exit 9 ;;
		esac
		exec env LD_PRELOAD="$5" CPROF_CONTROL="$2" "$6"' sh $before "$work/b-$before" "$python" "$work/binds.py" "$CP_LIBRARY" \
		"$builddir/tests/traps/hosts/control-host" < <(sleep 60) >before.out 2>before.err &
	pid=$!
	owns $pid
	wait_for 60 answers_at "$work/b-$before" || fail "$before: no answer: $(cat before.err)"
	case $before in
	file) [ "$(cat "b-file~$pid")" = precious ] || harm "a file beside the path is gone" ;;
	listener) [ -S "b-listener~$pid" ] || harm "another process's socket is gone" ;;
	left) [ ! -e "b-left~$pid" ] || fail "a socket that was left stays" ;;
	esac
	kill -9 $pid
done
finish
