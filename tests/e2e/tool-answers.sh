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
In use: 79MB in 80896 blocks
    in use  share     blocks       each  where
      50MB 63.29%      51200        1kB  remember < main
      20MB 25.32%      20480        1kB  cache < main
       9MB 11.39%       9216        1kB  varies < main
END
same "leaks of three, in any order" "$cprof" leaks heap2.pb heap0.pb heap1.pb <<'END'
In use: 40MB, then 79MB: 39MB more in 2 minutes, 3 dumps
      grew   a minute     in use     blocks  where
      40MB       20MB       50MB      51200  remember < main
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
In use: 75MB, then 303MB: 228MB more in 12 minutes, 13 dumps
      grew   error   a minute     in use     blocks   age  where
   46.29MB    ±18%     3.86MB       72MB         72    4m  grows_and_swings
      24MB                2MB       34MB         34    4m  remember
3 others: no growth beyond chance
END
# Of few dumps hardly anything is sure: what swings may have been seen as it rose.
same "leaks by few dumps" "$cprof" leaks trend06.pb trend08.pb trend07.pb <<'END'
In use: 159MB, then 192MB: 33MB more in 2 minutes, 3 dumps
      grew   error   a minute     in use     blocks   age  where
       4MB                2MB       26MB         26    4m  remember
More in few dumps, maybe in use for a moment (a later dump tells):
       7MB   ±303%     3.50MB       53MB         53    4m  grows_and_swings
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
In use: 20MB, then 120MB: 100MB more in 4 minutes, 5 dumps
      grew   error   a minute     in use     blocks  where
      40MB   ±5.3%       10MB       50MB         50  remember
1 other: no growth beyond chance
1 of them rose from dump to dump, but 5 dumps are too few for a trend: take ten
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
In use: 1.81MB in 3 blocks
    in use   error  share     blocks       each  where
  927.69kB   ±101% 50.00%          1   683.59kB  one
  927.69kB   ±101% 50.00%          2   683.59kB  two
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
In use: 1MB, then 2.13MB: 1.13MB more in 1 minutes, 2 dumps
      grew   a minute     in use     blocks  where
  976.56kB   976.56kB   976.56kB        100  leaks
   39.06kB    39.06kB  1015.62kB      10400  queue
Few blocks more, maybe in use for a moment (a later dump tells):
  144.53kB   144.53kB   144.53kB          4  in_flight
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
"$cprof" leaks less0.pb less1.pb | grep -q '^In use: 9MB, then 4MB: 5MB less in ' || fail "less: $("$cprof" leaks less0.pb less1.pb)"
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
Waits for locks: 100ms of threads' time in 1s, 2 locks

cache_mutex: 91ms in 91 waits, 91.00% of all, 1ms each, 9.10% of wall time
    waited  by                                        caused  by holder
      90ms  read                                        88ms  update
       1ms  update                                       3ms  read

log_mutex: 9ms in 9 waits, 9.00% of all, 1ms each, 0.9% of wall time
    waited  by                                        caused  by holder
       9ms  print                                        9ms  print
END
echo "cprof: hint: what the holder of cache_mutex does meanwhile: \"cprof run --wall -- COMMAND\", then \"cprof tree -focus='update' -ignore=lock FILE\"" |
	cmp -s - err || fail "locks: the next step: $(cat err)"
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
Waits for locks: 100ms of threads' time in 1s, 1 lock

m: 100ms in 100 waits, 100% of all, 1ms each, the longest 31ms, 10.00% of wall time
    waited   longest  by                                   caused  by holder
      90ms      31ms  read
      10ms         -  update
END

same "waits" "$cprof" waits wall.pb <<'END'
Threads waited 97ms, 97.00% of their 100ms, by cause and own function; 15ms of it in poll, where most have nothing to do:
      40ms 40.00%  lock
      40ms 40.00%    serve
      20ms 20.00%  sleep
      20ms 20.00%    serve
      10ms 10.00%  network
      10ms 10.00%    serve
       5ms  5.00%  disk
       5ms  5.00%    serve
       4ms  4.00%  child
       4ms  4.00%    serve
       3ms  3.00%  other
       3ms  3.00%    serve
      15ms 15.00%  poll
      15ms 15.00%    serve
       1ms  1.00%  (ready to run, but no processor was free)
       2ms  2.00%  (running)
END

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
Threads waited 100ms, 100% of their 100ms, by cause and own function:
      50ms 50.00%  network
      30ms 30.00%    serve [unix]
      20ms 20.00%    serve [tcp]
      40ms 40.00%  pipe
      40ms 40.00%    serve [pipe]
      10ms 10.00%  condition
      10ms 10.00%    serve
         0     0%  (running)
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
      80ms 80.00%  render, for ready, 40 waits
      50ms 50.00%    woken by put < load
      20ms 20.00%    woken by put < scan
      10ms 10.00%    [timed out]
                    1 more

Who ended the waits; their stacks: cprof tree run.io.wakers.pb
       4ms   100%  copy, for pipe, 2 waits
       4ms   100%    [waker unknown]
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
END
"$cprof" leaks heap.peak.pb | grep -qx 'In use at the peak: 1kB in 1 block' || fail "leaks of the peak: $("$cprof" leaks heap.peak.pb)"
"$cprof" locks odd.pb >out 2>err || fail "a count below zero: status $?, $(cat err)"
grep -q '^one: 1ms in 1 wait, ' out || fail "one wait: $(cat out)"
"$cprof" locks lock.holders.pb >out 2>err
[ $? = 2 ] && [ ! -s out ] && grep -q 'is of the holders; give the lock profile' err || fail "locks of holders: $(cat out err)"

"$cprof" locks '-own=(' lock.pb 2>err && fail "-own=( is taken"
grep -q 'own=(' err && ! grep -q 'no lock profile' err || fail "locks -own=( says: $(cat err)"
for verb in locks waits; do
	"$cprof" $verb lock.pb lock.pb 2>err && fail "$verb of two"
	grep -q 'profile is needed, not 2' err || fail "$verb of two says: $(cat err)"
done

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
