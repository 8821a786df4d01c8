# SPDX-License-Identifier: BSD-3-Clause
# The wall clock: every thread's whole time is in the profile, waiting where it waits and running where it runs.
# Nothing here depends on how fast the machine is.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/e2e/wall-host

walled() { # name command...
	name=$1
	shift
	bare "$name" env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/$name.pb" "$@"
	check_ended "$name" 0
	check_valid_as wall "$work/$name.pb"
}

raw() { # name
	"$pprof_check" --raw "$work/$1.pb"
}

# Rows that match a regular expression must match another, too.
check_all() { # name rows what
	raw "$1" | grep -E -- "$2" >"$work/rows" || { fail "$1: no row matches $2"; return; }
	grep -vE -- "$3" "$work/rows" >"$work/others" && fail "$1: not $3: $(head -n 3 "$work/others")"
}

shares() {
	walled shares "$host" shares 2
	check_all shares ';do_sleep;' 'state=(waiting.*nanosleep|runn)'
	check_all shares ';do_poll;' 'state=(waiting.*poll|runn)'
	check_all shares '[ ;	]compute;' 'state=runn(ing|able)'
	check_all shares 'state=waiting' '(nanosleep.*do_sleep|poll.*do_poll);main;'
	check_all shares . 'main;.*_start$'
	# A wait takes at least as long as was asked for, and nothing else can be there meanwhile:
	# within a period of each end.
	raw shares | awk -F '[,\t]' -v file="$work/shares.out" '
		{ total += $2; count += $1 }
		END {
			while ((getline line < file) > 0) { split(line, f, " "); lived += f[2] }
			if (total < lived) print "samples hold " total " ns of " lived
			if (count > total / 20000000 || count + 1 < total / 20000000 - 1) print count " periods in " total " ns" }' >"$work/wrong"
	[ ! -s "$work/wrong" ] || fail "shares: $(cat "$work/wrong")"
}

# Each thread's lifetime, by its own clock and by its maker's, is the least and the most time that it may have. The
# file is written again and again meanwhile: dumps come between visits, and make them late.
threads() {
	CPROF_CHECKPOINT=30ms walled threads "$host" threads
	"$pprof_check" --comments "$work/threads.pb" | sed -n 's/^wall time: .* \([0-9.]*\) s unsampled/unsampled \1/p' >>"$work/threads.out"
	# Where a thread that libc doesn't know begins can't be said, until it is seen at work or waiting.
	raw threads | awk -v file="$work/threads.out" '
		match($0, /tid=[0-9]+/) { tid = substr($0, RSTART + 4, RLENGTH - 4); split($1, v, ","); ns[tid] += v[2] }
		END {
			while ((getline line < file) > 0) {
				split(line, f, " ")
				if (f[1] == "foreign") { rest = f[3] - ns[f[2]]; continue }
				if (f[1] == "unsampled") { unsampled = f[2] * 1e9; said = 1; continue }
				n++
				if (ns[f[1]] < f[2] || ns[f[1]] > f[3]) print f[1] " has " ns[f[1]] + 0 " ns, lived " f[2] " to " f[3]
			}
			if (n != 34) print n " threads"
			if (!said || rest < 0 || unsampled > rest + 1e6) print unsampled + 0 " ns are unsampled, and " rest " of the foreign thread"
		}' >"$work/wrong"
	[ ! -s "$work/wrong" ] || fail "threads: $(head -n 3 "$work/wrong")"
	check_stack "$work/threads.pb" 'state=waiting.*nanosleep;.*sleeper;live;'
	check_stack "$work/threads.pb" 'state=running.*worker;live;'
	# libc's syscall has no frame, so on aarch64 its return address is in a register that the kernel doesn't tell.
	case $(uname -m) in
	aarch64) check_stack "$work/threads.pb" 'state=waiting.*syscall;\[incomplete\]' ;;
	*) check_stack "$work/threads.pb" 'state=waiting.*syscall;foreign_wait;foreign' ;;
	esac
	check_no_stack "$work/threads.pb" 'thread=cprof'
}

# As in a server with a thread for each connection: all of each one's time, in one place.
idle() {
	walled idle "$host" idle 200 1
	raw idle | awk -F '[,\t]' '
		/idle_thread/ { match($0, /tid=[0-9]+/); tid = substr($0, RSTART, RLENGTH); ns[tid] += $2 }
		/idle_thread/ && /state=waiting/ && !/(futex|sem_wait)/ { print "waits elsewhere: " $0 }
		END {
			for (tid in ns) { n++; if (ns[tid] < 1300000000) print tid " has " ns[tid] " ns" }
			if (n != 200) print n " threads"
		}' >"$work/wrong"
	[ ! -s "$work/wrong" ] || fail "idle: $(head -n 3 "$work/wrong")"
}

python() {
	command -v python3 >/dev/null || { echo "python3 is not installed"; return; }
	cat >"$work/threads.py" <<'PY'
import threading, time
lock = threading.Lock()
lock.acquire()
def waits():
    lock.acquire()
    lock.release()
def works():
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        sum(range(1000))
threads = [threading.Thread(target=f) for f in (waits, works, works)]
for t in threads:
    t.start()
time.sleep(0.8)
lock.release()
for t in threads:
    t.join()
PY
	walled python python3 "$work/threads.py"
	check_stack "$work/python.pb" 'state=waiting.*(time_sleep|pysleep|nanosleep|select)'
	check_stack "$work/python.pb" 'state=waiting.*(futex|sem|cond).*start_thread'
	check_stack "$work/python.pb" 'state=running.*start_thread'
	check_comment "$work/python.pb" 'stacks: 0 truncated at the depth limit'
	# The first thread that ends loads libgcc_s. Before glibc 2.35 libcprof needs a second to find a new library;
	# until then stacks that end in it are incomplete.
	raw python | grep -F '[incomplete]' >"$work/incomplete"
	! grep -v 'libgcc_s.so.1[^;]*;.incomplete.$' "$work/incomplete" || fail "python: incomplete stacks"
}

children() {
	walled fork "$host" fork
	for file in "$work/fork.pb."*; do
		check_valid_as wall "$file"
	done
	[ "$(echo "$work/fork.pb."* | wc -w)" = 2 ] || fail "fork: files are $(ls "$work")"
	cat "$work/fork.pb."* >/dev/null
	for file in "$work/fork.pb."*; do "$pprof_check" --raw "$file"; done >"$work/children"
	grep -q 'state=waiting.*nanosleep;.*child_sleeps;main' "$work/children" || fail "fork: no child_sleeps"
	grep -q 'thread=sleep,' "$work/children" || fail "fork: no sleep"
	check_no_stack "$work/fork.pb" child_sleeps
	check_stack "$work/fork.pb" 'wait4;main'
}

realtime() {
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/realtime.pb" CPUPROFILE_REALTIME=1 sleep 0.2
	check_valid_as wall "$work/realtime.pb"
	check_stack "$work/realtime.pb" 'state=waiting.*nanosleep'
}

all_modes() {
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/c.pb" WALLPROFILE="$work/w.pb" HEAPPROFILE="$work/h.pb" \
		LOCKPROFILE="$work/l.pb" "$host" threads >"$work/all.out" || fail "all: exit status $?"
	check_valid "$work/c.pb"
	check_valid_as wall "$work/w.pb"
	check_valid_as heap "$work/h.pb"
	check_valid_as lock "$work/l.pb"
	check_stack "$work/c.pb" 'worker;live;'
	check_no_stack "$work/c.pb" state=
	check_stack "$work/w.pb" 'state=running.*worker;live;'
}

shares
threads
idle
python
children
realtime
all_modes
finish
