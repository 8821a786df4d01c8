# SPDX-License-Identifier: BSD-3-Clause
# cprof threads says what each thread waits for: the lock and who holds it, the descriptor, the child, the thread; and
# finds deadlocks, but none that isn't one.
. "$srcdir/tests/lib/control.sh"
cd "$work"

# Starts PROGRAM under the library as NAME, $pid, with its input at $told.
begin() { # name settings... -- program...
	hosted=$1
	local settings=()
	shift
	while [ "$1" != -- ]; do
		settings+=("$1")
		shift
	done
	shift
	mkfifo "$hosted.in"
	env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on "${settings[@]}" "$@" <"$hosted.in" >"$hosted.out" 2>"$hosted.err" &
	pid=$!
	owns $pid
	exec {told}>"$hosted.in"
	wait_for 60 lists $pid - || fail "$hosted has no control socket"
}

# The program ends with its input, as if nobody had looked.
end() {
	exec {told}>&-
	reap "$pid"
	check_status "$hosted" 0
	[ ! -s "$hosted.err" ] || fail "$hosted says: $(cat "$hosted.err")"
}

# Looks until NAME.py, a check of $hosted.json in Python, is satisfied: threads need a moment to come to where they wait.
looks() {
	"$cprof" threads -json $pid >"$hosted.json" &&
		$python - "$hosted.json" "$hosted.out" "$@" <"$1.py" 2>"$hosted.why"
}

shows() { # check arguments...
	wait_for 30 looks "$@" || fail "$hosted: $(tail -n 1 "$hosted.why"): $(cat "$hosted.json")"
}

cat >causes.py <<'END'
import json, os, sys
threads, out = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
allowed = sys.argv[4]
child = int(out.split()[1])
seen = {}
for g in threads["groups"]:
    names = [f.get("function", "") for f in g["stack"]]
    place = next((n for n in names if n.startswith("wait_") and n.count("_") == 2 and "_for_" not in n), "main" if "main" in names else "")
    for t in g["threads"]:
        seen[place or t["name"]] = {k: v for k, v in t.items() if k not in ("tid", "name")}
sleeper = next(t["tid"] for g in threads["groups"] for t in g["threads"] if t["name"] == "sleeper")
main = next(t["tid"] for g in threads["groups"] for t in g["threads"] if "main" in [f.get("function") for f in g["stack"]])
def lock(kind, name, **more):
    return dict(wait={"condition": "condition", "semaphore": "semaphore", "barrier": "barrier"}.get(kind, "lock"),
                lock_kind=kind, lock=name, **more)
def on(wait, kind, **more):
    return dict(wait=wait, kind=kind, fd=int, **more)
def path(full):
    return {} if allowed == "none" else dict(target=full if allowed == "full" else os.path.basename(full))
wanted = {
    "wait_lock_none": lock("mutex", "mutex", holder=main),
    "wait_lock_again": lock("mutex", "again", holder=main),
    "wait_lock_rwlock": lock("rwlock", "rwlock", readers=1),
    "wait_lock_stream": lock("libc", str),
    "wait_lock_word": lock("futex", "word"),
    "wait_lock_flock": on("lock", "file", **({} if allowed == "none" else dict(target=str))),
    "wait_condition_none": lock("condition", "cond"),
    "wait_semaphore_none": lock("semaphore", "semaphore"),
    "wait_barrier_none": lock("barrier", "barrier"),
    "wait_thread_none": dict(wait="thread", joined=sleeper),
    "wait_sleep_none": dict(wait="sleep"),
    "wait_sleep_select": dict(wait="sleep"),
    "wait_pipe_pipe": on("pipe", "pipe"),
    "wait_pipe_fifo": on("pipe", "pipe"),
    "wait_pipe_eventfd": on("pipe", "eventfd"),
    "wait_network_unix": on("network", "unix"),
    "wait_network_tcp": on("network", "tcp"),
    "wait_network_udp": on("network", "udp"),
    "wait_network_peer": on("network", "tcp", **({} if allowed == "none" else dict(target=str))),
    "wait_poll_none": on("poll", "pipe", descriptors=1),
    "wait_poll_many": dict(wait="poll", descriptors=2),
    "wait_poll_select": on("poll", "pipe", descriptors=1),
    "wait_poll_epoll": on("poll", "epoll"),
    "wait_poll_inotify": on("poll", "inotify"),
    "wait_child_none": dict(wait="child", child=child, child_name="wall-causes-hos"),
    "wait_timer_timerfd": on("timer", "timerfd"),
    "wait_terminal_tty": on("terminal", "tty", **({} if allowed == "none" else dict(target=str))),
    "wait_signal_none": dict(wait="signal"),
    "wait_signal_signalfd": on("signal", "signalfd"),
    "sleeper": dict(wait="sleep"),
}
for place, want in wanted.items():
    got = seen.get(place, {})
    fits = set(got) == set(want) and all(isinstance(got[k], w) if isinstance(w, type) else got[k] == w for k, w in want.items())
    assert fits, (place, got, want)
if allowed == "full":
    assert seen["wait_network_peer"]["target"].startswith("127.0.0.1:"), seen["wait_network_peer"]
if allowed == "last":
    assert seen["wait_network_peer"]["target"].startswith(":"), seen["wait_network_peer"]
    assert "/" not in seen["wait_lock_flock"]["target"], seen["wait_lock_flock"]
assert threads["deadlocks"] == [], threads["deadlocks"]
END

for allowed in none full; do
	begin causes-$allowed CPROF_IO_TARGET=$allowed -- "$builddir/tests/e2e/wall-causes-host" stay
	wait_for 30 grep -q child "$hosted.out" || fail "no child"
	shows causes $allowed
	[ $allowed != none ] || "$cprof" threads $pid >causes.txt || fail "no text"
	end
done
said() { # regex
	grep -qE "^       $1\$" causes.txt || fail "text: no \"$1\" in $(cat causes.txt)"
}
said 'for mutex mutex, held by wall-causes-hos\([0-9]+\)'
said 'for read-write lock rwlock, held by 1 reader'
said 'for the end of sleeper\([0-9]+\)'
said 'for child wall-causes-hos\([0-9]+\)'
said 'on tcp, fd [0-9]+'
said 'for a lock of file, fd [0-9]+'
said 'for one of 2 descriptors'
said 'for time to pass'

# Behind a filter that kills for pidfd_getfd, as systemd's @system-service does, a peer isn't asked for.
cat >kills.py <<'END'
import ctypes, os, struct, sys
PIDFD_GETFD, KILL, ALLOW = 438, 0x80000000, 0x7fff0000
code = b"".join(struct.pack("HBBI", *i) for i in ((0x20, 0, 0, 0), (0x15, 0, 1, PIDFD_GETFD), (6, 0, 0, KILL), (6, 0, 0, ALLOW)))
program = ctypes.create_string_buffer(code)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", 4, ctypes.addressof(program))) == 0
os.execv(sys.argv[1], sys.argv[1:])
END
cat >receives.py <<'END'
import socket, sys, threading
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
receiver = threading.Thread(target=server.accept()[0].recv, args=(1,))
receiver.start()
sys.stdin.read()
client.close()
receiver.join()
END
cat >filtered.py <<'END'
import json, sys
waits = [t for g in json.load(open(sys.argv[1]))["groups"] for t in g["threads"] if t.get("kind") == "tcp"]
assert waits and not any("target" in t for t in waits), waits
END
begin filtered CPROF_IO_TARGET=full -- "$python" kills.py "$python" receives.py
shows filtered
end

# DEADLOCK: the names of its threads, each of which waits for the next; "" = none. OTHERS: what each other thread, by
# name, waits for.
cat >deadlock.py <<'END'
import json, sys
all = json.load(open(sys.argv[1]))
threads = {t["tid"]: t for g in all["groups"] for t in g["threads"]}
by_name = {t["name"]: t for t in threads.values()}
want = sys.argv[4].split()
found = [[threads[tid]["name"] for tid in d] for d in all["deadlocks"]]
# It may begin with any of them.
at = found[0].index(want[0]) if found and want else 0
assert (found and found[0][at:] + found[0][:at]) == want and len(found) == bool(want), (found, want)
assert sorted(t["name"] for t in threads.values() if "deadlock" in t) == sorted(want), threads
for waits in sys.argv[5:]:
    name, key, value = waits.split("=")
    got = by_name[name].get(key)
    assert (threads.get(got, {}).get("name", "gone") if key in ("holder", "joined") and got else str(got)) == value, (waits, by_name[name])
END

deadlock() { # kind names waits...
	begin "$1" -- "$builddir/tests/e2e/deadlock-host" "$1"
	wait_for 30 grep -q up "$1.out" || fail "$1 isn't up"
	shows deadlock "${@:2}"
	[ "$1" != two ] || "$cprof" threads $pid >two.txt || fail "no text"
	end
}

deadlock two "a b" a=lock=second a=holder=b b=lock=first b=holder=a
deadlock three "a b c" a=holder=b b=holder=c c=holder=a d=holder=b d=lock=second
deadlock mixed "a b c" a=lock_kind=rwlock a=holder=b b=joined=c c=holder=a
deadlock self a a=holder=a
deadlock timed "" a=holder=b b=holder=a
deadlock stale "" a=lock=second a=holder=None b=holder=a
deadlock dead "" b=holder=gone
deadlock none "" b=holder=a c=holder=b
grep -q '^deadlock: 2 threads wait for each other$' two.txt || fail "text: $(cat two.txt)"
grep -qE '^        b\([0-9]+\) waits for mutex first, held by a\([0-9]+\)$' two.txt || fail "text: $(cat two.txt)"
finish
