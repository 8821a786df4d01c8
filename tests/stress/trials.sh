# SPDX-License-Identifier: BSD-3-Clause
# A program under stress from outside and inside, in all modes at once, each trial for TRIAL_SECONDS (120),
# TRIALS="name ..." only some: its result is the same as without the profiler, its stderr is empty, its profiles are
# whole, and the CPU time that it used is in them or counted as lost. make check-all has ten seconds of each, all at the
# same time (trap_trials.sh).
#
#   dumps        SIGUSR2 in a loop
#   signals      SIGPROF from another process, each answered by the program's handler
#   stops        SIGSTOP and SIGCONT
#   churn        threads that live for a millisecond
#   forks        children and grandchildren, at most 18 at a time
#   execs        a program that becomes itself again and again
#   descriptors  all of 40 descriptors in use, again and again
#   memory       limits of address space (ulimit -v), and of a memory cgroup where one may be made
#   disk         a full disk, and room again
#   readonly     a file system that becomes read-only, and writable again
#   clock        other offsets of the monotonic clock (a time namespace). Jumps of the clock of day need a clock that can
#                be set, which tests don't do; only time_nanos is read from it
. "$srcdir/tests/lib/e2e.sh"
need python3
seconds=${TRIAL_SECONDS:-120}
limit="timeout -s KILL $((seconds * 6 + 120))"
host=$builddir/tests/stress/trial-host
export CPROF_CHECKPOINT=1s

modes() { # directory
	echo "LD_PRELOAD=$CP_LIBRARY CPUPROFILE=$1/cpu.pb CPUPROFILE_FREQUENCY=4000 WALLPROFILE=$1/wall.pb WALLPROFILE_FREQUENCY=1000
		HEAPPROFILE=$1/heap.pb CPROF_HEAP_INTERVAL=4K LOCKPROFILE=$1/lock.pb CPROF_LOCK_THRESHOLD=0 IOPROFILE=$1/io.pb"
}

# Run the host with all modes in the background, pid in $pid; profiles in $work/NAME.d.
start() { # name command...
	trial=$1
	shift
	mkdir -p "$work/$trial.d"
	env $(modes "$work/$trial.d") "$@" >"$work/$trial.out" 2>"$work/$trial.err" &
	pid=$!
	owns $pid
}

ended() { # name: it ended as it does without the profiler
	reap $pid
	check_status "$1" 0
	check_result "$1"
}

check_result() { # name
	[ "$(head -n 1 "$work/$1.out")" = "all rounds agree" ] || fail "$1: says $(cat "$work/$1.out")"
	[ ! -s "$work/$1.err" ] || fail "$1: on stderr: $(head -n 3 "$work/$1.err")"
}

of_mode() { # directory mode
	find "$1" -name "$2.*pb*" ! -name '*.tmp' | sort
}

# All files are valid, nothing half-written is left.
check_files() { # name
	[ -z "$(find "$work/$1.d" -name '*.tmp')" ] || fail "$1: temporary files are left"
	for mode in cpu wall heap lock io; do
		files=$(of_mode "$work/$1.d" $mode)
		[ -n "$files" ] || { fail "$1: no $mode profile"; continue; }
		check_valid_as $mode $files
	done
}

total() { # file type
	"$pprof_check" --total "$1" 2>/dev/null | awk -v t="$2" '$1 == t { printf "%d\n", $3 / 1000000 }'
}

collector_ms() { # file
	"$pprof_check" --comments "$1" | sed -n 's/^cost: \([0-9.]*\) ms in the collector.*/\1/p'
}

# The CPU time that the host reports, in ms, is in the profile or counted there as lost. Where the host is told to end
# beside a dump, the collector works on after the report: until CPU-AT-END at most.
check_whole() { # name cpu-tolerance-percent [cpu-at-end]
	read -r _ used _ _ lived <<<"$(tail -n 1 "$work/$1.out")"
	used=$(awk -v u="$used" 'BEGIN { printf "%d", u * 1000 }') lived=$(awk -v u="$lived" 'BEGIN { printf "%d", u * 1000 }')
	"$pprof_check" --comments "$work/$1.d/cpu.pb" >"$work/$1.cpu"
	"$pprof_check" --comments "$work/$1.d/wall.pb" >"$work/$1.wall"
	cpu=$(total "$work/$1.d/cpu.pb" cpu) wall=$(total "$work/$1.d/wall.pb" wall)
	own=$(sed -n 's/^cost: \([0-9]*\).* ms in the collector.*/\1/p' "$work/$1.cpu")
	unsampled=$(sed -n 's/^cpu time: .* in samples, \([0-9]*\)\.\([0-9]*\) s unsampled/\1\2/p' "$work/$1.cpu" | sed 's/^0*//')
	end=${3:-$used}
	echo "# $1: CPU $used ms used, $end at the end, $cpu in samples, ${unsampled:-0} unsampled, $own the collector's; wall $wall ms, $lived lived"
	sum=$((cpu + ${unsampled:-0} + own))
	near "$1: CPU time in samples, unsampled and the collector's" $sum $((sum < used ? used : sum > end ? end : sum)) "$2"
	# The part of a thread's life before and after it could read the clock is there, too.
	[ $wall -ge $((lived * 99 / 100)) ] || fail "$1: $wall ms of wall time of threads that lived $lived ms: $(grep '^wall time' "$work/$1.wall")"
	grep -qE '^samples: .*lost[^:]*: 0 ring full, 0 no memory, 0 unknown thread, 0 collector' "$work/$1.cpu" ||
		fail "$1: samples were lost: $(grep '^samples' "$work/$1.cpu")"
}

near() { # what got want percent
	awk -v got="$2" -v want="$3" -v part="$4" 'BEGIN { off = got > want ? got - want : want - got; exit !(off * 100 <= want * part + 10000) }' ||
		fail "$1: $2 ms, not $3 to $4 %"
}

now() {
	date +%s
}

# How often something happens depends on what else the machine does: asserted is what comes of it.
until_over() { # command...: again and again while the host has more than a second to live
	end=$(($(now) + seconds - 1))
	turns=0
	while [ "$(now)" -lt $end ] && kill -0 $pid 2>/dev/null; do
		"$@"
		turns=$((turns + 1))
	done
}

a_dump() {
	kill -USR2 $pid
	sleep 0.03
	# The newest but one is whole, and old ones go, so that the disk isn't filled.
	numbered=$(find "$work/dumps.d" -name 'cpu.0*.pb' | sort | tail -n 2 | head -n 1)
	[ -z "$numbered" ] || check_valid_as cpu "$numbered"
	find "$work/dumps.d" -name '*.0*.pb' | sort | sed -E 's/.*\.(0[0-9]+)\.pb/\1 &/' | sort -n | head -n -40 | cut -d' ' -f2- | xargs -r rm -f
}

trial_dumps() {
	start dumps "$host" "$seconds" plain
	sleep 0.5
	until_over a_dump
	ended dumps
	check_files dumps
	check_whole dumps 5
	last=$(find "$work/dumps.d" -name 'cpu.0*.pb' | sort | tail -n 1 | sed -E 's/.*\.0*([0-9]+)\.pb/\1/')
	echo "# dumps: $turns signals, $last dumps"
	[ "$last" -ge 1 ] && [ "$last" -le "$turns" ] || fail "dumps: $turns signals, $last dumps"
	# A dump is cumulative. One that is asked for while the file of the end is written comes after that.
	before=0
	for file in $(for file in "$work/dumps.d"/cpu*.pb; do echo "$(collector_ms "$file") $file"; done | sort -n | cut -d ' ' -f 2); do
		sum=$(total "$file" cpu)
		[ "$sum" -ge "$before" ] || fail "dumps: $file has $sum ms, the dump before it $before"
		before=$sum
	done
}

# Sends, and reads the answer to each: none may be lost or doubled.
trial_signals() {
	# Not a launcher in a script, which takes its time.
	python=$(python3 -c 'import sys; print(sys.executable)')
	mkfifo "$work/answers"
	last=$(($(now) + seconds - 1))
	start signals "$host" "$seconds" signals 3<>"$work/answers"
	"$python" -I -S - $pid "$work/answers" $last >"$work/sent" 2>&1 <<'END'
import os, select, signal, sys, time
pid, end, sent = int(sys.argv[1]), float(sys.argv[3]), 0
answers = os.open(sys.argv[2], os.O_RDWR | os.O_NONBLOCK)
def has_workers():
    try:
        return len(os.listdir("/proc/%d/task" % pid)) >= 3
    except FileNotFoundError:
        return False
# The handler is there before the workers are.
while not has_workers() and time.time() < end:
    time.sleep(0.01)
while time.time() < end:
    os.kill(pid, signal.SIGPROF)
    sent += 1
    if not select.select([answers], [], [], 20)[0]:
        sys.exit("no answer to signal %d" % sent)
    if os.read(answers, 100) != b"x":
        sys.exit("more than one answer to signal %d" % sent)
print(sent)
END
	[ $? = 0 ] || fail "signals: $(cat "$work/sent")"
	ended signals
	echo "# signals: $(cat "$work/sent") sent and answered"
	check_files signals
	check_whole signals 5
}

a_stop() {
	kill -STOP $pid
	sleep 0.03
	kill -CONT $pid
	sleep 0.03
}

trial_stops() {
	start stops "$host" "$seconds" plain
	sleep 0.3
	until_over a_stop
	ended stops
	echo "# stops: $turns"
	check_files stops
	check_whole stops 5
}

trial_churn() {
	start churn "$host" "$seconds" churn
	ended churn
	check_files churn
	"$pprof_check" --comments "$work/churn.d/cpu.pb" >"$work/churn.cpu"
	threads=$(sed -n 's/^threads: \([0-9]*\) given a clock.* \([0-9]*\) without one.*/\1 \2/p' "$work/churn.cpu")
	echo "# churn: threads with a clock, without one: $threads"
	[ "${threads% *}" -ge 19 ] && [ "${threads#* }" = 0 ] || fail "churn: $threads threads"
	check_whole churn 15
	check_stack "$work/churn.d/cpu.pb" 'work_round;.*short_lived;.*start_thread'
}

trial_forks() {
	mkdir -p "$work/forks.d"
	start forks "$host" "$seconds" forks
	while kill -0 $pid 2>/dev/null; do
		sleep 1
		# Children's profiles, checked as they come: a second old, so ended.
		old=$(find "$work/forks.d" -name 'cpu.pb.*' -mmin +0.03 2>/dev/null)
		[ -z "$old" ] || check_valid_as cpu $old
		# Not what is being written: its name begins with a dot.
		find "$work/forks.d" -name '[!.]*.pb.[0-9]*' -mmin +0.03 -delete 2>/dev/null
	done
	ended forks
	check_files forks
	check_stack "$work/forks.d/cpu.pb" 'work_round;.*(worker|main)'
}

trial_execs() {
	start execs "$host" "$seconds" exec
	ended execs
	turns=$(tail -n 1 "$work/execs.out" | cut -d' ' -f2)
	echo "# execs: $turns"
	[ "$turns" -gt 0 ] || fail "execs: none"
	[ -z "$(find "$work/execs.d" -name '*.tmp')" ] || fail "execs: temporary files are left"
	files=$(find "$work/execs.d" -name 'cpu.pb*' ! -name '*.tmp')
	[ -z "$files" ] || check_valid_as cpu $files
	check_valid_as heap $(find "$work/execs.d" -name 'heap.pb*' ! -name '*.tmp')
}

trial_descriptors() {
	(ulimit -n 40 && exec "$host" 1 descriptors) >"$work/bare.out" 2>&1 || fail "descriptors: without the profiler: $(cat "$work/bare.out")"
	start descriptors bash -c "ulimit -n 40 && exec '$host' $seconds descriptors"
	ended descriptors
	check_files descriptors
	check_whole descriptors 5
}

# From where the library can't even be loaded to where there is room: whatever the program does without the profiler
# in that room, it does with it.
trial_memory() {
	need_kb=$("$host" 0.2 plain | awk '$1 == "used" { print $4 }')
	[ "${need_kb:-0}" -gt 1000 ] || { fail "memory: no peak of the program alone"; return; }
	rounds=0 end=$(($(now) + seconds))
	while [ "$(now)" -lt $end ] || [ $rounds = 0 ]; do
		for more in 4000 8000 16000 32000 64000 128000 512000; do
			rm -rf "$work/memory.d"
			mkdir "$work/memory.d"
			status=0
			(ulimit -v $((need_kb + more)) && exec timeout -s KILL 60 env $(modes "$work/memory.d") "$host" 0.5 plain) \
				>"$work/memory.out" 2>"$work/memory.err" || status=$?
			grep -q 'cannot be preloaded' "$work/memory.err" && continue
			check_status "memory, $more kB more" 0
			[ "$(head -n 1 "$work/memory.out")" = "all rounds agree" ] || fail "memory, $more kB more: says $(cat "$work/memory.out" "$work/memory.err")"
			grep -v '^libcprof: ' "$work/memory.err" && fail "memory, $more kB more: on stderr"
			for mode in cpu wall heap lock io; do
				files=$(of_mode "$work/memory.d" $mode)
				[ -z "$files" ] || check_valid_as $mode $files
				[ -n "$files" ] || [ -s "$work/memory.err" ] || fail "memory, $more kB more: no $mode profile, and nothing is said"
			done
			rounds=$((rounds + 1))
		done
	done
	check_files memory
	echo "# memory: $rounds runs from $need_kb kB up"
	memory_cgroup
}

memory_cgroup() {
	group=/sys/fs/cgroup/memory bound=memory.limit_in_bytes
	[ -e "$group/$bound" ] || group=/sys/fs/cgroup bound=memory.max
	group=$group/cprof-trial-$$
	if [ ! -e "${group%/*}/cgroup.procs" ] || ! mkdir "$group" 2>/dev/null; then
		echo "# memory: no cgroup can be made here: not tried"
		return
	fi
	if echo 100M 2>/dev/null >"$group/$bound"; then
		start cgroup bash -c "echo \$\$ >'$group/cgroup.procs'; exec '$host' 2 plain"
		ended cgroup
		check_files cgroup
	else
		echo "# memory: no limit for a cgroup here: not tried"
	fi
	wait_for 5 rmdir "$group" || fail "cgroup: $group is left"
}

# In a mount namespace of its own: $1 full or readonly.
on_small_disk() {
	cat >"$work/$1.sh" <<'END'
mount -t tmpfs -o size=3m none "$mnt" || exit 77
# It ends when it is told to, where it can write: however long the last turn took.
env $settings "$host" $((seconds * 10)) plain >"$work/$kind.out" 2>"$work/$kind.err" &
pid=$!
# Before its first profile it has not begun, and might find no place for any.
until [ -e "$mnt/cpu.pb" ]; do
	kill -0 $pid || exit 5
	sleep 0.02
done
end=$(($(date +%s) + seconds - 2)) turns=0
while [ "$(date +%s)" -lt $end ]; do
	if [ $kind = disk ]; then
		head -c 4000000 /dev/zero >"$mnt/filler" 2>/dev/null
		sleep 0.4
		rm "$mnt/filler"
	else
		mount -o remount,ro "$mnt"
		sleep 0.4
		mount -o remount,rw "$mnt"
	fi
	# Whatever is there is whole.
	for file in "$mnt"/cpu.pb; do
		[ ! -e "$file" ] || "$pprof_check" --mode cpu "$file" >/dev/null 2>"$work/$kind.bad" || { echo broken; exit 4; }
	done
	sleep 0.2
	turns=$((turns + 1))
done
kill -USR2 $pid
times >"$work/$kind.times"
kill -USR1 $pid
wait $pid || exit $?
times >>"$work/$kind.times"
cp "$mnt"/* "$work/$kind.d"
echo $turns
END
	mkdir -p "$work/$1.mnt" "$work/$1.d"
	status=0
	export work host seconds pprof_check
	settings=$(modes "$work/$1.mnt") mnt=$work/$1.mnt kind=$1 CPROF_CHECKPOINT=100ms \
		unshare -m --propagation private bash "$work/$1.sh" >"$work/$1.turns" 2>"$work/$1.log" || status=$?
	[ $status != 77 ] || { echo "# $1: no tmpfs can be mounted here: not tried"; return; }
	check_status "$1" 0
	[ "$(head -n 1 "$work/$1.out")" = "all rounds agree" ] || fail "$1: says $(cat "$work/$1.out")"
	# Each mode says once that it could not write, and no more.
	[ "$(grep -vc '^libcprof: ' "$work/$1.err")" = 0 ] && [ "$(wc -l <"$work/$1.err")" -le 12 ] ||
		fail "$1: on stderr: $(cat "$work/$1.err")"
	echo "# $1: $(cat "$work/$1.turns") times; $(grep -c . "$work/$1.err") lines on stderr"
	check_files "$1"
	# The children's line, before and after.
	check_whole "$1" 5 "$(awk -F '[ms ]+' 'NR % 2 == 0 { ms = ($1 + $3) * 60000 + ($2 + $4) * 1000 - ms } END { printf "%d", ms }' "$work/$1.times")"
}

trial_disk() {
	can_mount disk && on_small_disk disk
}

trial_readonly() {
	can_mount readonly && on_small_disk readonly
}

can_mount() {
	unshare -m true 2>/dev/null || { echo "# $1: no mount namespaces here: not tried"; return 1; }
}

trial_clock() {
	unshare --time --monotonic 10000000 --boottime 10000000 true 2>/dev/null ||
		{ echo "# clock: no time namespaces here: not tried"; return; }
	before=$(now)
	start clock unshare --time --monotonic 10000000 --boottime 10000000 -- "$host" "$seconds" plain
	ended clock
	check_files clock
	check_whole clock 5
	began=$(go tool pprof -raw "$work/clock.d/cpu.pb" 2>/dev/null | sed -n 's/^Time: \(....-..-.. ..:..:..\).*/\1/p' | head -n 1)
	[ -z "$began" ] || began=$(date -u -d "$began" +%s)
	[ -z "$began" ] || { [ "$began" -ge $((before - 1)) ] && [ "$began" -le "$(now)" ]; } || fail "clock: the profile begins at $began, not $before"
}

for trial_name in ${TRIALS:-dumps signals stops churn forks execs descriptors memory disk readonly clock}; do
	echo "# trial: $trial_name"
	trial_$trial_name
done
finish
