# SPDX-License-Identifier: BSD-3-Clause
# All modes at once, at high rates, on programs that were not written for this test: same output and exit status,
# valid files. Losses of a busy machine are shown.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/programs.sh"

four() { # name command...
	name=$1
	shift
	"$@" >"$work/$name.plain" 2>"$work/$name.plain.err"
	plain=$?
	env LD_PRELOAD="$CP_LIBRARY" \
		CPUPROFILE="$work/$name.cpu.pb" CPUPROFILE_FREQUENCY=1000 \
		WALLPROFILE="$work/$name.wall.pb" WALLPROFILE_FREQUENCY=200 \
		HEAPPROFILE="$work/$name.heap.pb" CPROF_HEAP_INTERVAL="${interval:-16K}" CPROF_HEAP_VIEWS=mmap \
		LOCKPROFILE="$work/$name.lock.pb" CPROF_LOCK_THRESHOLD=0 \
		"$@" >"$work/$name.out" 2>"$work/$name.err"
	status=$?
	[ "$status" = "$plain" ] || fail "$name: exit status $status, without profiler $plain"
	cmp -s "$work/$name.plain" "$work/$name.out" || fail "$name: another output"
	cmp -s "$work/$name.plain.err" "$work/$name.err" || fail "$name says: $(head -n 3 "$work/$name.err")"
	for mode in cpu wall heap lock; do
		check_valid_as "$mode" "$work/$name.$mode.pb"
		# Losses are numbers before "ring full", "no memory", "collector limit".
		"$pprof_check" --comments "$work/$name.$mode.pb" | grep -oE '[0-9]+ (ring full|no memory|collector limit)' |
			grep -v '^0 ' | sed "s/^/$name, $mode: lost: /"
	done
	for mode in cpu wall heap; do
		"$pprof_check" --raw "$work/$name.$mode.pb" | grep -q main || fail "$name: $mode: no main"
	done
}

make_data "$work/data"
four xz xz -1 -T2 -k -c "$work/data"
if command -v python3 >/dev/null; then
	# A launcher in a script would own the names: the interpreter itself.
	python=$(python3 -c 'import sys; print(sys.executable)')
	four python "$python" -c '
import hashlib, json, threading
def work():
    d = {i: str(i) for i in range(60000)}
    hashlib.sha256(json.dumps(d).encode() * 4).hexdigest()
threads = [threading.Thread(target=work) for _ in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
print("done")'
fi
if command -v sqlite3 >/dev/null; then
	# A third of a second of CPU time: with a tenth of that, a busy machine's ticks and our task, which asks for the wall
	# clock's stacks, may all come while it doesn't run. The whole time is then said to be unsampled.
	interval=1 four sqlite sqlite3 :memory: "
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 400000)
insert into t select x, x * 7 % 1009 from c;
create index i on t(b); select count(distinct b), sum(a) from t;"
fi
finish
