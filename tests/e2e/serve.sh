# SPDX-License-Identifier: BSD-3-Clause
# cprof serve: Go's endpoints, their headers and errors; several clients at once, clients that are slow or go away, two
# servers, a process that ends; what stays on afterwards; /metrics, /targets and the page.
. "$srcdir/tests/lib/control.sh"
$python -c 'import ctypes; ctypes.CDLL("libmicrohttpd.so.12")' 2>/dev/null || skip "libmicrohttpd12 is not installed"
client=$(cd "$srcdir" && pwd)/tests/e2e/serve.py
cd "$work"

through= # a command that runs the server
serve() { # name arguments...
	name=$1
	shift
	# Without the program's input, which must end when the test ends it.
	eval '$through "$cprof" serve -http=127.0.0.1:0 "$@" >"$name.out" 2>"$name.err" '"$told>&- &"
	server=$!
	owns $server
	wait_for 60 grep -q 'cprof: serving ' "$name.err" || fail "$name: $(cat "$name.err")"
	url=$(sed -n 's,.*at http://\([^/]*\)/.*,\1,p' "$name.err")
}

# All threads of the program are stopped: a little later than kill returns.
has_stopped() {
	! grep -hE '^State:' /proc/$pid/task/*/status | grep -qv 'T (stopped)'
}

app two
other=$pid end_other=$told
app one
serve all
timeout 300 $python "$client" "$url" "$pid" "$cprof" "$pprof_check" all $other || fail "all: $(cat all.err)"
kill -TERM $server
reap $server
check_status all 0
lists $pid - || fail "modes are left on: $("$cprof" ps)"

# The server ends while it answers a delta: nobody goes on with that window.
serve mid-delta
delta="import urllib.request; urllib.request.urlopen('http://$url/pid/$pid/debug/pprof/delta_heap').read()"
timeout 300 $python -c "$delta" || fail "mid-delta: $(cat mid-delta.err)"
lists $pid heap || fail "mid-delta: no window waits: $("$cprof" ps)"
kill -STOP $pid
wait_for 60 has_stopped || fail "mid-delta: the program doesn't stop"
timeout 60 $python -c "$delta" 2>/dev/null &
asks=$!
wait_for 60 pgrep -P $server || fail "mid-delta: no worker"
kill -TERM $server
kill -CONT $pid
reap $server
check_status mid-delta 0
wait $asks || true
lists $pid - || fail "mid-delta: modes are left on: $("$cprof" ps)"
! grep -q signal mid-delta.err || fail "mid-delta: says $(cat mid-delta.err)"

serve beside
beside=$server beside_url=$url
serve two-servers
timeout 300 $python "$client" "$url" "$pid" "$cprof" "$pprof_check" beside "$beside_url" $beside || fail "beside: $(cat two-servers.err beside.err)"
wait $beside || fail "beside: status $?"
kill -TERM $server
reap $server
check_status two-servers 0
lists $pid - || fail "two servers: modes are left on: $("$cprof" ps)"

# One process: it needs no name. The server ends with it.
serve page $pid
PYTHONDONTWRITEBYTECODE=1 timeout 300 $python "$client" "$url" "$pid" "$cprof" "$pprof_check" page || fail "page: $(cat page.err)"
kill -TERM $server
reap $server
check_status page 0
serve one-server $pid
grep -q "serving process $pid at" one-server.err || fail "one: says $(cat one-server.err)"
timeout 300 $python "$client" "$url" "$pid" "$cprof" "$pprof_check" one || fail "one: $(cat one-server.err)"
exec {told}>&-
wait $pid
reap $server
check_status one-server 0
grep -q 'have ended' one-server.err || fail "one: at the end: $(cat one-server.err)"
exec {end_other}>&-
wait $other

# The arguments of a program are told only where that is asked for; the number is all the same.
env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on sleep 60 &
secret=$!
owns $secret
wait_for 60 lists $secret - || fail "the program with an argument has no socket"
cmdline() {
	$python -c "import urllib.request; print(urllib.request.urlopen('http://$url/pid/$secret/debug/pprof/cmdline').read())"
}
serve without-arguments
[ "$(cmdline)" = "b'sleep'" ] || fail "cmdline tells $(cmdline)"
kill -TERM $server
serve with-arguments -arguments
[ "$(cmdline)" = "b'sleep\\x0060'" ] || fail "with -arguments, cmdline tells $(cmdline)"
kill -TERM $server
kill $secret

# Where others can reach it, it says so: at all addresses of a network of its own, which nobody is in.
through="unshare --user --map-root-user --net"
if $through true 2>/dev/null; then
	serve outside -http=:0
	grep -qF "warning: everybody who reaches $url can read" outside.err || fail "outside: no warning: $(cat outside.err)"
	kill -TERM $server
	reap $server
	check_status outside 0
else
	echo "the warning of an address that others reach is not tested: there are no user namespaces here"
fi
through=
! grep -q warning all.err one-server.err || fail "a warning on loopback: $(cat all.err one-server.err)"

# What can't be.
"$cprof" serve -http=nowhere:port >bad.out 2>bad.err && fail "a bad address is taken"
grep -q 'is no HOST:PORT' bad.err || fail "a bad address: $(cat bad.err)"
"$cprof" serve word >bad.out 2>bad.err && fail "a bad pid is taken"
grep -q 'is no process id' bad.err || fail "a bad pid: $(cat bad.err)"
"$cprof" serve $$ >bad.out 2>bad.err && fail "a process without the library is taken"
grep -q 'does not run under libcprof' bad.err || fail "a process without the library: $(cat bad.err)"
"$cprof" serve -keep=2h >bad.out 2>bad.err && fail "-keep=2h is taken"
finish
