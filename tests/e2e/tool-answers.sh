# SPDX-License-Identifier: BSD-3-Clause
# cprof leaks, locks and waits: the culprit's function is in the first lines.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof" python3
srcdir=$(cd "$srcdir" && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/tests/lib
cd "$work" || exit 1
python3 - <<'END'
from pprof_build import Profile
MB, MS = 1 << 20, 10**6


def modules(p):
    return p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6"), p.mapping("/usr/lib/libstdc++.so.6")


# Of three dumps one stack grows, one stays, and one varies by what sampling at 512K makes of 10 MB.
for i, (leak, noisy) in enumerate(((10, 10), (30, 13), (50, 9))):
    p = Profile([("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")],
                default="inuse_space", duration=(i + 1) * 60 * 10**9)
    p.period = 512 * 1024
    app, libc, cxx = modules(p)
    main = p.frame("main", mapping=app)
    new = p.frame("operator new", mapping=cxx)
    for name, mb in (("remember", leak), ("cache", 20), ("varies", noisy)):
        p.sample([new, p.frame(name, mapping=app), main], [0, 0, mb * 1024, mb * MB])
    p.write(f"heap{i}.pb")
for name, functions in (("lock.pb", (("update", "cache_mutex", 1), ("read", "cache_mutex", 90), ("print", "log_mutex", 9))),
                        ("lock.holders.pb", (("update", "cache_mutex", 88), ("read", "cache_mutex", 3), ("print", "log_mutex", 9)))):
    p = Profile([("contentions", "count"), ("delay", "nanoseconds")] if name == "lock.pb" else [("waits", "count"), ("blocking", "nanoseconds")])
    app, libc, cxx = modules(p)
    for function, lock, ms in functions:
        p.sample([p.frame("pthread_mutex_lock", mapping=libc), p.frame("std::mutex::lock", mapping=app), p.frame(function, mapping=app)],
                 [ms, ms * MS], {"lock": lock})
    p.write(name)
p = Profile([("samples", "count"), ("wall", "nanoseconds")])
app, libc, cxx = modules(p)
for leaf, state, cause, ms in (("pthread_mutex_lock", "waiting", "lock", 40), ("usleep", "waiting", "sleep", 20),
                               ("epoll_wait", "waiting", "poll", 15), ("recv", "waiting", "network", 10), ("fsync", "waiting", "disk", 5),
                               ("wait4", "waiting", "child", 4), ("strange", "waiting", "", 3), ("", "running", "", 2),
                               ("pthread_mutex_lock", "runnable", "", 1)):
    p.sample([*([p.frame(leaf, mapping=libc)] if leaf else []), p.frame("serve", mapping=app), p.frame("main", mapping=app)],
             [1, ms * MS], {"state": state, **({"wait": cause} if cause else {})})
p.write("wall.pb")
END

same() { # what command... (the wanted output is read)
	cat >wanted
	"${@:2}" >out 2>err </dev/null || fail "$1: failed: $(cat err)"
	sed 's/ *$//' out | diff wanted - >differs || fail "$1: $(cat differs)"
}

same "leaks of one" "$cprof" leaks heap2.pb <<'END'
In use: 79 MB in 80896 blocks
    in use  share     blocks       each  where
     50 MB 63.29%      51200       1 kB  remember < main
     20 MB 25.32%      20480       1 kB  cache < main
      9 MB 11.39%       9216       1 kB  varies < main
END
same "leaks of three, in any order" "$cprof" leaks heap2.pb heap0.pb heap1.pb <<'END'
In use: 40 MB, then 79 MB: 39 MB more in 120 s, 3 dumps
      grew   a minute     in use     blocks  where
     40 MB      20 MB      50 MB      51200  remember < main
2 others: no growth beyond chance
END
# Of more dumps the trend counts: not a queue that was low in the first and is high in the last, nor one dump of a cache.
# What grows and swings has an error. What passes through is young.
python3 - <<'END'
import math
from pprof_build import Profile
MB = 1 << 20
for i in range(13):
    p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], time=1700000000 * 10**9 + i * 60 * 10**9, duration=0)
    app = p.mapping("/opt/app/app")
    sizes = {"queue": round(50 - 40 * math.cos(2 * math.pi * i * 2.5 / 12)), "cache": 90 if i == 12 else 30, "remember": 10 + 2 * i,
             "grows_and_swings": 20 + 4 * i + (i * 7) % 5}
    for name, mb in sizes.items():
        p.sample([p.frame(name, mapping=app)], [mb, mb * MB], {"age": (256, "seconds")})
    p.sample([p.frame("passes", mapping=app)], [5 + i, (5 + i) * MB], {"age": (8, "seconds")})
    p.write(f"trend{i:02}.pb")
END
same "leaks by trend" "$cprof" leaks trend*.pb <<'END'
In use: 75 MB, then 303 MB: 228 MB more in 720 s, 13 dumps
      grew   error   a minute     in use     blocks   age  where
   46.3 MB    ±18%    3.86 MB      72 MB         72    4m  grows_and_swings
     24 MB               2 MB      34 MB         34    4m  remember
3 others: no growth beyond chance
END
# Of few dumps hardly anything is sure: what swings may have been seen as it rose.
same "leaks by few dumps" "$cprof" leaks trend06.pb trend08.pb trend07.pb <<'END'
In use: 159 MB, then 192 MB: 33 MB more in 120 s, 3 dumps
      grew   error   a minute     in use     blocks   age  where
      4 MB               2 MB      26 MB         26    4m  remember
Unsure, perhaps chance or in use for a moment (a later dump tells):
      7 MB   ±303%    3.50 MB      53 MB         53    4m  grows_and_swings
3 others: no growth beyond chance
END
# Without ages five dumps don't tell a queue that fills from a leak, unless it grows by more than six times its swing.
python3 - <<'END'
from pprof_build import Profile
for i, (queue, remember) in enumerate(((10, 10), (34, 20), (40, 31), (66, 40), (70, 50))):
    p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], time=1700000000 * 10**9 + i * 60 * 10**9, duration=0)
    for name, mb in (("queue", queue), ("remember", remember)):
        p.sample([p.frame(name, mapping=p.mapping("/opt/app/app"))], [mb, mb << 20])
    p.write(f"ageless{i}.pb")
END
same "leaks by five dumps without ages" "$cprof" leaks ageless*.pb <<'END'
In use: 20 MB, then 120 MB: 100 MB more in 240 s, 5 dumps
      grew   error   a minute     in use     blocks  where
     40 MB   ±5.3%      10 MB      50 MB         50  remember
Unsure, perhaps chance or in use for a moment (a later dump tells):
   61.3 MB    ±39%    15.3 MB      70 MB         70  queue
END
# What sampling alone may have made is told, with its error: 10 MB more of 10 MB are 20 samples more of 20.
python3 - <<'END'
from pprof_build import Profile
for i, sizes in enumerate((dict(remember=10, cache=90, stays=20), dict(remember=20, cache=93, stays=20))):
    p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], time=1700000000 * 10**9 + i * 60 * 10**9, duration=0)
    p.period, p.period_type = 524288, ("space", "bytes")
    for name, mb in sizes.items():
        p.sample([p.frame(name, mapping=p.mapping("/opt/app/app"))], [mb * 1024, mb << 20])
    p.write(f"samples{i}.pb")
END
same "leaks by few samples" "$cprof" leaks samples0.pb samples1.pb <<'END'
In use: 120 MB, then 133 MB: 13 MB more in 60 s, 2 dumps
No stack grew by more than chance explains.
      grew   error   a minute     in use     blocks  where
Unsure, perhaps chance or in use for a moment (a later dump tells):
     10 MB    ±76%      10 MB      20 MB      20480  remember
2 others: no growth beyond chance
END
# A sampled block stands for 1.36 blocks, a number that is rounded; its size is what the label says.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")])
p.period, p.period_type = 524288, ("space", "bytes")
for name, blocks in (("one", 1), ("two", 2)):
    p.sample([p.frame(name, mapping=p.mapping("/opt/app/app"))], [blocks, 949951], {"bytes": (700000, "bytes")})
p.write("rounded.pb")
END
same "leaks of rounded blocks" "$cprof" leaks rounded.pb <<'END'
In use: 1.81 MB in 3 blocks
    in use   error  share     blocks       each  where
    928 kB   ±101% 50.00%          1     684 kB  one
    928 kB   ±101% 50.00%          2     684 kB  two
END
# A few blocks more may be in use for a moment: no alarm. Many are growth.
python3 - <<'END'
from pprof_build import Profile
for i, stacks in enumerate(((("in_flight", 0, 37000), ("leaks", 0, 10000), ("queue", 10000, 100), ("stays", 5, 10000)),
                            (("in_flight", 4, 37000), ("leaks", 100, 10000), ("queue", 10400, 100), ("stays", 5, 10000)))):
    p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], duration=(i + 1) * 60 * 10**9)
    app = p.mapping("/opt/app/app")
    for name, blocks, each in stacks:
        p.sample([p.frame(name, mapping=app)], [blocks, blocks * each])
    p.write(f"flight{i}.pb")
END
same "leaks beside blocks in flight" "$cprof" leaks flight0.pb flight1.pb <<'END'
In use: 1.00 MB, then 2.13 MB: 1.13 MB more in 60 s, 2 dumps
      grew   a minute     in use     blocks  where
    977 kB     977 kB     977 kB        100  leaks
   39.1 kB    39.1 kB    1016 kB      10400  queue
Unsure, perhaps chance or in use for a moment (a later dump tells):
    145 kB     145 kB     145 kB          4  in_flight
1 other: no growth beyond chance
END
python3 - <<'END'
from pprof_build import Profile
for i, mb in enumerate((9, 4)):
    p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")])
    p.sample([p.frame("cache", mapping=p.mapping("/opt/app/app"))], [1, mb << 20])
    p.write(f"less{i}.pb")
END
mkdir tree && cp less0.pb tree/app.0001.pb.4321 && : >tree/app.0001.pb.4.html >"tree/app.0001.pb.4$(printf '\033')["
"$cprof" leaks tree/app.0001.pb 2>err && fail "a file that isn't there"
grep -q ' tree/app.0001.pb: No such file or directory; there is tree/app.0001.pb.4321$' err || fail "a file with a pid behind its name: $(cat err)"
"$cprof" leaks less0.pb less1.pb | grep -q '^In use: 9 MB, then 4 MB: 5 MB less in ' || fail "less: $("$cprof" leaks less0.pb less1.pb)"
python3 - <<'END'
from pprof_build import Profile
p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")])
app = p.mapping("/opt/app/app")
p.sample([p.frame(f"function_{i:02}", mapping=app) for i in range(40)], [1, 1 << 20])
p.write("deep.pb")
END
"$cprof" leaks deep.pb >out
grep -q 'function_00 < .*…$' out || fail "leaks of a deep stack: $(cat out)"
! grep -q function_39 out || fail "leaks shows a whole long stack: $(cat out)"
grep -qx '…: the stack goes on; -full-names shows all of it' out || fail "leaks doesn't say how to see the stack: $(cat out)"
"$cprof" leaks -full-names deep.pb >out
grep -q 'function_00 < .* < function_39$' out && ! grep -q '…' out || fail "leaks -full-names: $(cat out)"
same "locks" "$cprof" locks lock.pb <<'END'
Waits for locks: 100 ms of threads' time in 1 s, 2 locks

cache_mutex: 91 ms in 91 waits, 91.00% of all, 1 ms each, 9.10% of wall time
    waited  by                                        caused  by holder
     90 ms  read                                       88 ms  update
      1 ms  update                                      3 ms  read

log_mutex: 9 ms in 9 waits, 9.00% of all, 1 ms each, 0.9% of wall time
    waited  by                                        caused  by holder
      9 ms  print                                       9 ms  print
END
echo "cprof: hint: what the holder of cache_mutex does meanwhile: \"cprof run --wall -- COMMAND\", then \"cprof tree -focus='update' -ignore='^pthread_.*lock$' FILE\"" |
	cmp -s - err || fail "locks: the next step: $(cat err)"
# Several files are added up, with the holders beside each. Filters choose waits; holders are shown whole.
cp lock.pb lock2.pb && cp lock.holders.pb lock2.holders.pb
same "locks of two files, one lock" "$cprof" locks -tagfocus=lock=log_mutex lock.pb lock2.pb <<'END'
Waits for locks: 18 ms of threads' time in 1 s, 1 lock

log_mutex: 18 ms in 18 waits, 100% of all, 1 ms each, 1.80% of wall time
    waited  by                                        caused  by holder, of all waits
     18 ms  print                                      18 ms  print
END
same "locks of one function" "$cprof" locks -focus=update lock.pb <<'END'
Waits for locks: 1 ms of threads' time in 1 s, 1 lock

cache_mutex: 1 ms in 1 wait, 100% of all, 1 ms each, 0.1% of wall time
    waited  by                                        caused  by holder, of all waits
      1 ms  update                                     88 ms  update
                                                        3 ms  read
END
# The longest wait of a lock and of a function is the longest of all its rows; a row may have none.
python3 - <<'END'
from pprof_build import Profile
MS = 10**6
p = Profile([("contentions", "count"), ("delay", "nanoseconds")])
app = p.mapping("/opt/app/app")
for function, tid, ms, longest in (("read", 1, 40, 7), ("read", 2, 50, 31), ("update", 1, 10, 0)):
    labels = {"lock": "m", "tid": tid, **({"longest": longest * MS} if longest else {})}
    p.sample([p.frame("pthread_mutex_lock", mapping=p.mapping("/usr/lib/libc.so.6")), p.frame(function, mapping=app)], [ms, ms * MS], labels)
p.write("longest.pb")
END
same "the longest waits" "$cprof" locks longest.pb <<'END'
Waits for locks: 100 ms of threads' time in 1 s, 1 lock

m: 100 ms in 100 waits, 100% of all, 1 ms each, the longest 31 ms, 10.00% of wall time
    waited   longest  by                                   caused  by holder
     90 ms     31 ms  read
     10 ms         -  update
END

# A lock without a variable is named by who waits for it, too.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("contentions", "count"), ("delay", "nanoseconds")])
app = p.mapping("/opt/app/app")
for leaf, lock, function, ms in (("pthread_mutex_lock", "0x7f4afc000b90", "insert", 30), ("pthread_mutex_lock", "0x7f4afc000b90", "look", 10), ("__futex", None, "park", 5)):
    p.sample([p.frame(leaf, mapping=p.mapping("/usr/lib/libc.so.6")), p.frame(function, mapping=app)], [1, ms * 10**6], {"lock": lock} if lock else {})
p.write("nameless.pb")
END
"$cprof" locks nameless.pb 2>/dev/null | grep '^[^ W]' >out
printf '%s\n' '0x7f4afc000b90 in insert: 40 ms in 2 waits, 88.89% of all, 20 ms each, 4.00% of wall time' '(no lock) in park: 5 ms in 1 wait, 11.11% of all, 5 ms each, 0.5% of wall time' |
	cmp -s - out || fail "locks without a name: $(cat out)"

same "waits" "$cprof" waits wall.pb <<'END'
Threads waited 97 ms, 97.00% of their 100 ms, by cause and own function; 15 ms of it idle:
     40 ms 40.00%  lock
     40 ms 40.00%    serve
     20 ms 20.00%  sleep
     20 ms 20.00%    serve
     10 ms 10.00%  network
     10 ms 10.00%    serve
      5 ms  5.00%  disk
      5 ms  5.00%    serve
      4 ms  4.00%  child
      4 ms  4.00%    serve
      3 ms  3.00%  other
      3 ms  3.00%    serve
      1 ms  1.00%  (ready to run, but no processor was free)
                      idle, mostly: polls, and waits in a thread's own loop
     15 ms 15.00%  poll
     15 ms 15.00%    serve
      2 ms  2.00%  (running)
END

# Threads that wait for something to do come after those that make somebody wait: a pool's workers (but not a job of theirs
# that waits for its answer), threads of libraries, a timer's thread, and the first thread, which waits for their end.
python3 - <<'END'
from pprof_build import Profile
pool = ["worker"]
jobs = [*pool, "job"]
rows = [("condition", "pthread_cond_wait", [*pool, "Queue::pop"], 500), ("condition", "pthread_cond_wait", [*pool, "Queue::pop", "uv_cond_wait"], 40),
        ("condition", "pthread_cond_wait", [*jobs, "fetch", "Future::get"], 60), ("lock", "pthread_mutex_lock", [*jobs, "Stats::add"], 100), (None, None, jobs, 10),
        ("condition", "pthread_cond_wait", ["bio_jobs"], 70), ("semaphore", "sem_wait", None, 30), ("sleep", "clock_nanosleep", ["reporter"], 20),
        ("sleep", "clock_nanosleep", ["reporter", "report", "back_off"], 5), ("thread", "pthread_join", ["main", "run_all"], 90),
        ("condition", "pthread_cond_wait", ["main", "run_all"], 15)]
for name, types in ("idle.pb", [("wall", "nanoseconds")]), ("idle.lock.pb", [("contentions", "count"), ("delay", "nanoseconds")]):
    p = Profile(types)
    app, libc, other = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6"), p.mapping("/usr/lib/libother.so")
    for cause, leaf, stack, ms in rows:
        if len(types) == 2 and cause not in ("condition", "lock", "semaphore"):
            continue
        root = [p.frame("__libc_start_main", mapping=libc)] if stack and stack[0] == "main" else [p.frame("start_thread", mapping=libc)]
        frames = [p.frame(f, mapping=app) for f in stack[::-1]] if stack else [p.frame("pool_thread", mapping=other)]
        frames = [*([p.frame(leaf, mapping=libc)] if leaf else []), *frames, *root]
        if len(types) == 1:
            p.sample(frames, [ms * 10**6], {"state": "waiting", "wait": cause} if cause else {"state": "running"})
        else:
            p.sample(frames, [1, ms * 10**6], {"lock": {500: "queue.cv", 40: "queue.cv"}.get(ms, f"lock{ms}")})
    p.write(name)
END
same "idle threads last" "$cprof" waits idle.pb <<'END'
Threads waited 930 ms, 98.94% of their 940 ms, by cause and own function; 750 ms of it idle:
    100 ms 10.64%  lock
    100 ms 10.64%    Stats::add
     75 ms  7.98%  condition
     60 ms  6.38%    Future::get
     15 ms  1.60%    run_all
      5 ms  0.53%  sleep
      5 ms  0.53%    back_off
                      idle, mostly: polls, and waits in a thread's own loop
    610 ms 64.89%  condition
    500 ms 53.19%    Queue::pop
     70 ms  7.45%    bio_jobs
     40 ms  4.26%    uv_cond_wait
     90 ms  9.57%  thread
     90 ms  9.57%    run_all
     30 ms  3.19%  semaphore
     30 ms  3.19%    sem_wait
     20 ms  2.13%  sleep
     20 ms  2.13%    reporter
     10 ms  1.06%  (running)
END
"$cprof" locks idle.lock.pb 2>/dev/null | grep '^[^ ]' >out
printf '%s\n' "Waits for locks: 175 ms of threads' time in 1 s, 3 locks; and 3 where workers wait for something to do" \
	'lock100: 100 ms in 1 wait, 57.14% of all, 100 ms each, 10.00% of wall time' \
	'condition lock60: 60 ms in 1 wait, 34.29% of all, 60 ms each, 6.00% of wall time' \
	'condition lock15: 15 ms in 1 wait, 8.57% of all, 15 ms each, 1.50% of wall time' \
	'condition queue.cv: 540 ms in 2 waits, mostly for something to do, 270 ms each, 54.00% of wall time' \
	'condition lock70: 70 ms in 1 wait, mostly for something to do, 70 ms each, 7.00% of wall time' \
	'semaphore lock30: 30 ms in 1 wait, mostly for something to do, 30 ms each, 3.00% of wall time' |
	cmp -s - out || fail "locks of idle threads: $(cat out)"

"$cprof" top idle.lock.pb 2>/dev/null | sed -n '3,/^$/p' | sed 's/.*%  //' >out
printf '%s\n' Stats::add Future::get run_all 'Queue::pop (mostly for something to do)' 'bio_jobs (mostly for something to do)' 'uv_cond_wait (mostly for something to do)' '' |
	cmp -s - out || fail "top of idle threads: $("$cprof" top idle.lock.pb)"

# A poll makes somebody wait if the only thread does it, or a job of a worker: for an answer. That of a loop among other
# threads, or of an event loop by epoll, waits for something to do.
python3 - <<'END'
from pprof_build import Profile
def polls(file, rows):
    p = Profile([("wall", "nanoseconds")])
    app, libc = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6")
    for cause, leaf, stack, ms in rows:
        root = p.frame("__libc_start_main" if stack[0] == "main" else "start_thread", mapping=libc)
        p.sample([*([p.frame(leaf, mapping=libc)] if leaf else []), *(p.frame(f, mapping=app) for f in stack[::-1]), root], [ms * 10**6],
                 {"state": "waiting" if cause else "running", **({"wait": cause} if cause else {}), **({"kind": "epoll"} if leaf == "epoll_wait" else {})})
    p.write(file)
polls("client.pb", [("poll", "poll", ["main"], 90), (None, None, ["main", "work"], 10)])
polls("server.pb", [("poll", "epoll_wait", ["main"], 90), (None, None, ["main", "work"], 10)])
polls("workers.pb", [("poll", "poll", ["main", "serve", "select", "select_poll"], 65), (None, None, ["main", "set_up"], 5), ("poll", "poll", ["worker", "next"], 60), ("poll", "poll", ["worker", "job", "request", "answer"], 50),
                     (None, None, ["worker", "job"], 20)])
END
for want in 'client:100 ms, by cause and own function:' 'server:100 ms, by cause and own function; 90 ms of it idle:' \
	'workers:200 ms, by cause and own function; 125 ms of it idle:'; do
	"$cprof" waits "${want%%:*}.pb" 2>/dev/null | head -n 1 | grep -qF "of their ${want#*:}" || fail "polls: not $want: $("$cprof" waits "${want%%:*}.pb")"
done

# By thread, those of one name apart; several files; filters, which don't change where a loop is.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("wall", "nanoseconds")])
app, libc = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6")
for tid, cause, leaf, stack, ms in (1, "condition", "pthread_cond_wait", ["worker", "pop"], 60), (1, None, None, ["worker", "job"], 30), (1, "lock", "pthread_mutex_lock", ["worker", "job", "add"], 10), \
        (2, "condition", "pthread_cond_wait", ["worker", "job", "fetch", "get"], 80), (2, "runnable", None, ["worker", "job"], 20):
    labels = {"state": "runnable" if cause == "runnable" else "waiting" if cause else "running", "thread": "pool", "tid": tid}
    p.sample([*([p.frame(leaf, mapping=libc)] if leaf else []), *(p.frame(f, mapping=app) for f in stack[::-1])], [ms * 10**6],
             labels | ({"wait": cause} if cause and cause != "runnable" else {}))
p.write("threads.pb")
END
"$cprof" waits -threads=tid threads.pb 2>/dev/null | sed '1,/^$/d' >out
printf '%s\n' '      time  running    ready   waited     idle  thread' '    100 ms   30.00%        -   10.00%   60.00%  pool 1, mostly lock: add' \
	'    100 ms        -   20.00%   80.00%        -  pool 2, mostly condition: get' | cmp -s - out || fail "waits by thread: $(cat out)"
"$cprof" waits -threads threads.pb threads.pb 2>/dev/null | grep -q '^    400 ms   15.00%   10.00%   45.00%   30.00%  pool, mostly condition: get$' || fail "two files: $("$cprof" waits -threads threads.pb threads.pb)"
"$cprof" waits -tagfocus=wait=condition threads.pb 2>/dev/null | head -n 1 >out
[ "$(cat out)" = 'Threads waited 140 ms, 100% of their 140 ms, by cause and own function; 60 ms of it idle:' ] || fail "only conditions: $(cat out)"
"$cprof" folded -threads=tid threads.pb | grep -q '^pool 2;worker;job;fetch;get;' || fail "threads apart: $("$cprof" folded -threads=tid threads.pb)"
"$cprof" waits '-focus=(' threads.pb >out 2>&1 && fail "-focus=( is taken"

# Nor does a window: what a worker does in it is no loop because it does nothing else then. All of the run tells.
for mode in wall lock; do
	{
		echo 'time 1700000000s'
		printf '%s\n' 'end 10s' 'thread 1 pool' 'event 0s 0 0 8s 8s' 'event 8s 0 1 2s 2s'
		if [ "$mode" = wall ]; then
			printf '%s\n' 'type wall nanoseconds' 'sample worker;pop;state=waiting;wait=condition 8s' 'sample worker;job;fetch;get;state=waiting;wait=condition 2s'
		else
			printf '%s\n' 'type contentions count' 'type delay nanoseconds' 'sample worker;pop;pthread_cond_wait;lock=jobs 1 8s' 'sample worker;job;fetch;get;pthread_cond_wait;lock=got 1 2s'
		fi
	} | "$builddir/tests/tools/make-times" "part.$mode.pb" || fail "make-times $mode"
done
"$cprof" waits -from=8s part.wall.pb 2>/dev/null | grep -qx 'Threads waited 2 s, 100% of their 2 s, by cause and own function:' || fail "waits of a window: $("$cprof" waits -from=8s part.wall.pb)"
"$cprof" locks -from=8s part.lock.pb 2>/dev/null | grep -q '^condition got: 2 s in 1 wait, 100% of all' || fail "locks of a window: $("$cprof" locks -from=8s part.lock.pb)"
"$cprof" waits -from=8s part.wall.pb part.wall.pb 2>/dev/null | grep -q 'of their 4 s, by cause and own function:$' || fail "waits of a window of two files: $("$cprof" waits -from=8s part.wall.pb part.wall.pb)"
printf '%s\n' 'time 1700000000s' 'end 10s' 'type wall nanoseconds' 'sample main;work;state=running 1s' 'thread 1 main' 'event 9s 0 0 1s 1s' |
	"$builddir/tests/tools/make-times" runs.wall.pb || fail "make-times runs"
"$cprof" waits -from=8s part.wall.pb runs.wall.pb 2>/dev/null | grep -q 'of their 3 s, by cause and own function:$' || fail "waits of a window, and a process without: $("$cprof" waits -from=8s part.wall.pb runs.wall.pb)"
"$cprof" top -focus=get part.lock.pb 2>/dev/null | grep -q '  pthread_cond_wait$' || fail "top of one function: $("$cprof" top -focus=get part.lock.pb)"

# The file's own labels come before the names; a function that waits at descriptors of two kinds has two rows.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("wall", "nanoseconds")])
app, libc = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6")
for leaf, labels, ms in (("read", {"wait": "pipe", "kind": "pipe", "fd": 7}, 40), ("read", {"wait": "network", "kind": "tcp"}, 20),
                         ("read", {"wait": "network", "kind": "unix"}, 30), ("__futex", {"wait": "condition"}, 10)):
    p.sample([p.frame(leaf, mapping=libc), p.frame("serve", mapping=app)], [1, ms * 10**6], {"state": "waiting", **labels})
p.write("causes.pb")
END
same "waits with causes" "$cprof" waits causes.pb <<'END'
Threads waited 100 ms, 100% of their 100 ms, by cause and own function; 10 ms of it idle:
     50 ms 50.00%  network
     30 ms 30.00%    serve [unix]
     20 ms 20.00%    serve [tcp]
     40 ms 40.00%  pipe
     40 ms 40.00%    serve [pipe]
                      idle, mostly: polls, and waits in a thread's own loop
     10 ms 10.00%  condition
     10 ms 10.00%    serve
END

# Files of wakers beside the wall profile: of the modes lock and I/O, and one of an earlier run.
"$cprof" waits causes.pb 2>&1 >/dev/null | grep -q '"cprof run --wall --lock" says who ends the waits' || fail "nothing says that wakers can be known"
python3 - <<'END'
from pprof_build import Profile


def wakers(name, rows, **times):
    p = Profile([("waits", "count"), ("delay", "nanoseconds")], default="delay", **times)
    app, libc = p.mapping("/opt/app/app"), p.mapping("/usr/lib/libc.so.6")
    for waker, mark, waiter, leaf, label, ms in rows:
        woken = [p.frame("pthread_cond_signal", mapping=libc), *(p.frame(f, mapping=app) for f in waker)] if waker else []
        p.sample([*woken, p.frame(mark), p.frame(leaf, mapping=libc), p.frame(waiter, mapping=app), p.frame("main", mapping=app)],
                 [ms // 2, ms * 10**6], label)
    p.write(name)


ready, pipe = {"lock": "ready"}, {"kind": "pipe"}
rows = [(["put", "load"], "[woken by]", "render", "pthread_cond_wait", ready, 50), (["put", "scan"], "[woken by]", "render", "pthread_cond_wait", ready, 20),
        (None, "[timed out]", "render", "pthread_cond_timedwait", ready, 10), (["stop"], "[woken by]", "idle", "sem_wait", {"lock": "jobs"}, 20)]
wakers("run.lock.wakers.pb", rows)
wakers("run.io.wakers.pb", [(None, "[waker unknown]", "copy", "read", pipe, 4)])
wakers("run.wakers.pb", rows, time=1600000000 * 10**9)
END
cp causes.pb run.wall.pb
"$cprof" waits -nodecount=1 run.wall.pb >out 2>err
[ -s err ] && fail "waits with wakers says: $(cat err)"
sed '1,/^$/d' out >wakers
cat >expected <<'END'
Who ended the waits; their stacks: cprof tree run.lock.wakers.pb
     80 ms 80.00%  render, for ready, 40 waits
     50 ms 50.00%    woken by put < load
     20 ms 20.00%    woken by put < scan
     10 ms 10.00%    [timed out]
                    1 more

Who ended the waits; their stacks: cprof tree run.io.wakers.pb
      4 ms   100%  copy, for pipe, 2 waits
      4 ms   100%    [waker unknown]
END
cmp -s expected wakers || fail "wakers: $(diff expected wakers)"

python3 - <<'END'
from pprof_build import Profile
p = Profile([("total_objects", "count"), ("total_space", "bytes"), ("peak_objects", "count"), ("peak_space", "bytes")], default="peak_space")
p.sample([p.frame("remember", mapping=p.mapping("/opt/app/app"))], [9, 9000, 1, 1024])
p.write("heap.peak.pb")
p = Profile([("contentions", "count"), ("delay", "nanoseconds")], default="delay")
p.sample([p.frame("read", mapping=p.mapping("/opt/app/app"))], [-1, -2**63], {"lock": "odd"})
p.sample([p.frame("read", mapping=p.mapping("/opt/app/app"))], [1, 10**6], {"lock": "one"})
p.write("odd.pb")
# Waits that were too short to be looked at are no lock, and who ended a thread did not end them.
p = Profile([("contentions", "count"), ("delay", "nanoseconds")], default="delay")
app = p.mapping("/opt/app/app")
p.sample([p.frame("read", mapping=app)], [1, 10**6], {"lock": "one"})
p.sample([p.frame("[short waits]")], [2, 600])
p.write("short.pb")
p = Profile([("waits", "count"), ("delay", "nanoseconds")], default="delay")
app = p.mapping("/opt/app/app")
p.sample([p.frame("begin", mapping=app), p.frame("[woken by]"), p.frame("pthread_join"), p.frame("main", mapping=app)], [1, 9 * 10**9])
p.write("short.wakers.pb")
# Of a tree of processes, what one says of itself doesn't hold for all.
p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
for name, ms in (("first", 1), ("second", 9), ("third", 0)):
    main = p.frame("main", mapping=p.mapping("/opt/app/" + name))
    if ms:
        p.sample([main], [ms, ms * 10**6])
    p.comments += [f"# libcprof 1, mode cpu, pid {ms}"]
p.comments += ["# note: it is late"]
p.write("tree.pb")
END
"$cprof" locks short.pb >out 2>err || fail "short waits: $(cat err)"
grep -q '^Waits for locks: .*, 1 lock$' out && grep -q '^\[short waits\]: 600 ns in 2 waits, ' out && ! grep -q begin out || fail "short waits: $(cat out)"
"$cprof" top tree.pb >out 2>err && grep -qx 'cprof: note: of one process or more: it is late' err || fail "the note of a process: $(cat err)"
grep -q '^Your code (second, first, third): 10 ms' out || fail "programs of a tree: $(cat out)"
# A program that frees all at its end: no table, and the file that tells.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")])
p.sample([p.frame("work", mapping=p.mapping("/opt/app/app"))], [0, 0])
p.write("freed.pb")
END
cp heap.peak.pb freed.peak.pb
"$cprof" leaks freed.pb >out 2>err
[ "$(cat out)" = 'In use: 0 in 0 blocks' ] && grep -q 'at the high water: cprof leaks freed.peak.pb$' err || fail "all was freed: $(cat out err)"
# Where a thread of the program works for the profiler.
python3 - <<'END'
from pprof_build import Profile
p = Profile([("samples", "count"), ("wall", "nanoseconds")])
main = p.frame("main", mapping=p.mapping("/opt/app/app"))
p.sample([p.frame("cp_call_on_stack", mapping=p.mapping("/usr/lib/libcprof.so.0"))], [1, 10**6], {"state": "waiting", "wait": "other"})
p.sample([main], [1, 10**6], {"state": "running"})
p.write("writes.pb")
END
"$cprof" waits writes.pb 2>/dev/null | grep -q ' \[libcprof\]$' || fail "the profiler's own work: $("$cprof" waits writes.pb)"
# The views beside the dumps are no dumps.
"$cprof" leaks heap.peak.pb heap?.pb >out 2>err || fail "leaks with a peak: $(cat err)"
"$cprof" leaks heap?.pb 2>/dev/null | cmp - out && grep -qx 'cprof leaks: without heap.peak.pb: no dump of the memory in use' err ||
	fail "leaks with a peak: $(cat out err)"
"$cprof" leaks heap.peak.pb | grep -qx 'In use at the peak: 1 kB in 1 block' || fail "leaks of the peak: $("$cprof" leaks heap.peak.pb)"
"$cprof" locks odd.pb >out 2>err || fail "a count below zero: status $?, $(cat err)"
grep -q '^one: 1 ms in 1 wait, ' out || fail "one wait: $(cat out)"
"$cprof" locks lock.holders.pb >out 2>err
[ $? = 2 ] && [ ! -s out ] && grep -q 'is of the holders; give the lock profile' err || fail "locks of holders: $(cat out err)"

"$cprof" locks '-own=(' lock.pb 2>err && fail "-own=( is taken"
grep -q 'own=(' err && ! grep -q 'no lock profile' err || fail "locks -own=( says: $(cat err)"

# Requests for the wrong file, and without the file beside it.
mv lock.holders.pb elsewhere.pb
"$cprof" locks lock.pb 2>err | grep -q ' read$' && grep -q 'there is no lock.holders.pb' err || fail "without holders: $(cat err)"
grep -q hint: err && fail "without holders: a hint: $(cat err)"
cp lock.pb lock.pb.12
"$cprof" locks lock.pb 2>&1 >out | grep -qx 'cprof: hint: a process that the profiled one started wrote lock.pb.12' || fail "locks: a child's file: $(cat err)"
cp heap0.pb heap0.pb.12 && cp wall.pb wall.pb.12
"$cprof" leaks heap0.pb 2>&1 >out | grep -qx 'cprof: hint: a process that the profiled one started wrote heap0.pb.12' || fail "leaks: a child's file"
"$cprof" waits wall.pb 2>&1 >out | grep -qx 'cprof: hint: a process that the profiled one started wrote wall.pb.12' || fail "waits: a child's file"
rm heap0.pb.12 wall.pb.12
for wrong in "leaks wall.pb" "locks wall.pb" "waits heap0.pb" "waits lock.pb" "locks heap0.pb" "leaks lock.pb"; do
	"$cprof" $wrong >out 2>err
	[ $? = 2 ] && grep -q "is no .* profile; \"cprof run --" err || fail "cprof $wrong: $(cat err)"
done
finish
