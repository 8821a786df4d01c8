#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whole programs beside other profilers: xz, clang, python3, redis-server, postgres. Every round runs all, in another
# order each time; what counts is the ratio to the bare run of the same round, of CPU time and of wall-clock time. "again" is the bare
# program once more: the noise. Also the peak memory and the size of the files.
# Those that are one process are run side by side as well (bench/beside.c), redis by heap-redis.sh: that is what small costs are read from.
# Not the wall mode, whose visits go by real time. PROGRAMS=clang-large is one large file for clang, side by side only: a
# short run's price is mostly that of its end.
# ROUNDS (5), BESIDE_ROUNDS (25), REDIS_ROUNDS (25). The servers work on sockets in a temporary directory; postgres as nobody.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
rounds=${ROUNDS:-5}
export REDIS_ROUNDS=${REDIS_ROUNDS:-25}
beside_rounds=${BESIDE_ROUNDS:-25}
$CC -O2 -D_GNU_SOURCE -o "$work/beside" "$srcdir/bench/beside.c" || exit 1
$CC -O2 -D_GNU_SOURCE -o "$work/run-cost" "$srcdir/bench/run-cost.c" || exit 1
chmod 711 "$work"
library=$work/libcprof.so
cp -L "$CP_LIBRARY" "$library" # nobody may not see the build directory
chmod 644 "$library"
mkdir "$work/out"
chmod 777 "$work/out"
out=$work/out
profiler=$(find_library libprofiler.so.0)
tcmalloc=$(find_library libtcmalloc.so.4)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; cleanup' EXIT

# Put before the command: sets $prefix.
prefix_of() { # variant
	case $1 in
	bare | again) prefix=(env) ;;
	cpu) prefix=(env "LD_PRELOAD=$library" "CPUPROFILE=$out/p.cpu.pb") ;;
	heap) prefix=(env "LD_PRELOAD=$library" "HEAPPROFILE=$out/p.heap.pb") ;;
	all) prefix=(env "LD_PRELOAD=$library" "CPUPROFILE=$out/p.cpu.pb" "WALLPROFILE=$out/p.wall.pb"
		"HEAPPROFILE=$out/p.heap.pb" "LOCKPROFILE=$out/p.lock.pb") ;;
	gperftools) prefix=(env "LD_PRELOAD=$profiler" "CPUPROFILE=$out/p.prof" CPUPROFILE_FREQUENCY=99) ;;
	gperftools-heap) prefix=(env "LD_PRELOAD=$tcmalloc" "HEAPPROFILE=$out/p" HEAP_PROFILE_ALLOCATION_INTERVAL=0
		HEAP_PROFILE_INUSE_INTERVAL=0) ;;
	perf) prefix=(perf record -q -F 99 -g -o "$out/p.data") ;;
	heaptrack) prefix=(heaptrack -r -o "$out/p.heaptrack") ;;
	esac
}

# CPU us, wall us, KiB of a command.
run_command() { # command...
	"$work/run-cost" 1 "${prefix[@]}" "$@"
}

wait_until() { # condition...
	for _ in $(seq 200); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.02
	done
	return 1
}

# The load's time counts as the server's wall-clock time.
run_server() { # name of the functions that wait, load and stop
	"$work/run-cost" 1 "${as[@]}" "${prefix[@]}" "${command[@]}" >"$work/cost" 2>"$work/server.err" &
	server=$!
	wait_until "$1_ready" || return 1
	load_began=$(date +%s%N)
	"$1_load" >"$work/load.out" 2>&1 || return 1
	load_us=$((($(date +%s%N) - load_began) / 1000))
	"$1_stop" >/dev/null 2>&1
	wait "$server"
	server=
	awk -v us=$load_us '{ print $1, us, $3 }' "$work/cost"
}

# ---- programs ----
run_xz() { run_command xz -T2 -1 -c "$work/data"; }
run_clang() { run_command "$clang" -O2 -c -o "$work/o.o" "$work/input.c"; }
run_python3() { run_command "$python" "$work/script.py"; }

# Side by side: the files of each have its name in theirs.
beside_of() { # program
	case $1 in
	xz) command=(xz -1 -c "$work/data") ;;
	clang) command=("$clang" -O2 -c -o "$work/@.o" "$work/input.c") ;;
	clang-large) command=("$clang" -O2 -c -o "$work/@.o" "$work/large.c") ;;
	python3) command=("$python" "$work/script.py") ;;
	*) return 1 ;;
	esac
}

run_beside() { # program
	beside_of "$1" || return 0
	beside=()
	for variant in bare again preloaded cpu heap ${profiler:+gperftools}; do
		case $variant in
		preloaded) prefix=(LD_PRELOAD="$library") ;;
		*) prefix_of "$variant"; prefix=("${prefix[@]:1}") ;;
		esac
		beside+=(-- "$variant" CPROF_SYMBOLIZE=names "${prefix[@]//$out\/p/$out/@}" "${command[@]}")
	done
	"$work/beside" "$beside_rounds" "${beside[@]:1}" >"$work/beside.$1" 2>>"$work/err" ||
		{ echo "$1, side by side, failed: $(tail -n 1 "$work/err")"; return; }
	rm -f "$out"/*
	for variant in again preloaded cpu heap ${profiler:+gperftools}; do
		awk -v by="$variant" '$2 == "bare" { bare[$1] = $3 } $2 == by { us[$1] = $3 }
			END { for (r in us) print (us[r] / bare[r] - 1) * 100 }' "$work/beside.$1" |
			say_record program-beside +% program="$1" by="$variant"
	done
	awk '$2 == "bare" { print $3 / 1000 }' "$work/beside.$1" | record program-beside-bare ms program="$1"
}

redis_cli() { env -u LD_PRELOAD redis-cli -s "$out/redis.sock" "$@"; }
redis_ready() { redis_cli ping | grep -q PONG; }
redis_load() {
	redis-benchmark -s "$out/redis.sock" -n 60000 -r 20000 -d 1000 -c 20 -P 4 -q -t set,get,lpush,hset
}
redis_stop() { redis_cli shutdown nosave; }
# Bytes of the profiles that a run left: libcprof's by mode, the others' as a whole.
run_redis() {
	as=()
	command=("$redis" --port 0 --unixsocket "$out/redis.sock" --save '' --appendonly no --dir "$out")
	run_server redis
}

postgres_ready() { pg_isready -q -h "$out" -U bench -d postgres; }
postgres_load() { "${nobody[@]}" pgbench -h "$out" -U bench -n -c 4 -j 2 -t 1200 postgres; }
postgres_stop() { kill -INT "$(head -n 1 "$work/pg/data/postmaster.pid")"; }
run_postgres() {
	as=("${nobody[@]}")
	command=("$pgbin/postgres" -D "$work/pg/data" -h '' -k "$out" -F)
	run_server postgres
}
make_postgres() {
	nobody=()
	[ "$(id -u)" != 0 ] || nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
	mkdir "$work/pg"
	[ "$(id -u)" != 0 ] || chown nobody "$work/pg"
	"${nobody[@]}" "$pgbin/initdb" -D "$work/pg/data" -A trust -U bench --no-sync >"$work/initdb.out" 2>&1 || return 1
	prefix=(env)
	as=("${nobody[@]}")
	command=("$pgbin/postgres" -D "$work/pg/data" -h '' -k "$out" -F)
	run_server fill >/dev/null
}
fill_ready() { postgres_ready; }
fill_load() { "${nobody[@]}" pgbench -h "$out" -U bench -i -q -s 5 postgres; }
fill_stop() { postgres_stop; }

# ---- what there is ----
clang=$(command -v clang || command -v clang-14)
python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3)
redis=$(command -v redis-server || command -v redis-check-rdb)
if [ "${redis##*/}" = redis-check-rdb ]; then
	ln -s "$redis" "$work/redis-server" # one program, under its other name
	redis=$work/redis-server
fi
pgbin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
seq 1 3000000 >"$work/data"
c_source 100 >"$work/input.c"
c_source 1000 >"$work/large.c"
python_script 60000 >"$work/script.py"
programs=
! has xz || programs="$programs xz"
[ -z "$clang" ] || programs="$programs clang"
[ -z "$python" ] || programs="$programs python3"
if [ -n "$redis" ] && has redis-benchmark; then programs="$programs redis"; fi
if [ -n "$pgbin" ] && has pgbench; then
	if make_postgres; then programs="$programs postgres"; else echo "postgres could not be set up: $(tail -n 1 "$work/initdb.out" "$work/server.err")"; fi
fi
programs=${PROGRAMS:-$programs}

# Bytes of the profiles that a run left: ours by mode, the others' whole.
note_files() { # program variant
	for note_kind in cpu wall heap lock; do
		cat "$out"/p.$note_kind*.pb* 2>/dev/null | wc -c | awk '$1 { print $1 / 1024 }' >>"$work/files.$1.$2-$note_kind"
	done
	cat "$out"/p.prof* "$out"/p.[0-9]*.heap "$out"/p.data "$out"/p.heaptrack* 2>/dev/null | wc -c |
		awk '$1 { print $1 / 1024 }' >>"$work/files.$1.$2"
	rm -f "$out"/p.*
}

for program in $programs; do
	if [ "$program" = redis ]; then bash "$srcdir/bench/heap-redis.sh"; else run_beside "$program"; fi
	[ "$program" != clang-large ] || continue
	variants="bare again cpu heap all"
	[ -z "$profiler" ] || variants="$variants gperftools"
	# Its heap profiler takes minutes here; perf as root can't follow a server that changes its user.
	[ "$program" != xz ] || [ -z "$tcmalloc" ] || variants="$variants gperftools-heap"
	if has perf && perf record -q -o "$work/perf.try" true >/dev/null 2>&1; then
		variants="$variants perf"
	fi
	case $program in xz | clang | python3) ! has heaptrack || variants="$variants heaptrack" ;; esac
	echo "$program: $variants"
	read -ra order <<<"$variants"
	for round in $(seq "$rounds"); do
		for i in $(seq 0 $((${#order[@]} - 1))); do
			variant=${order[(i + round) % ${#order[@]}]}
			# A tool that takes several times as long is not compared in per cent.
			case $variant in heaptrack | gperftools-heap) [ "$round" -le 2 ] || continue ;; esac
			prefix_of "$variant"
			cost=$("run_$program" 2>>"$work/err") || { echo "$program $variant failed: $(tail -n 1 "$work/err")"; continue; }
			# Where the tool lets the program's cost be seen only beside its own, that is what it costs.
			echo "$round $cost" >>"$work/times.$program.$variant"
			note_files "$program" "$variant"
		done
	done
	for variant in $variants; do
		[ -s "$work/times.$program.$variant" ] && [ -s "$work/times.$program.bare" ] || continue
		awk 'NR == FNR { bare[$1] = $2; wall[$1] = $3; next } bare[$1] { print ($2 / bare[$1] - 1) * 100, ($3 / wall[$1] - 1) * 100, $4 }' \
			"$work/times.$program.bare" "$work/times.$program.$variant" >"$work/ratios"
		cut -d ' ' -f 1 "$work/ratios" | say_record program-cpu +% program="$program" by="$variant"
		cut -d ' ' -f 2 "$work/ratios" | record program-wall +% program="$program" by="$variant"
		cut -d ' ' -f 3 "$work/ratios" | record program-memory KiB program="$program" by="$variant"
		for file in "$variant" "$variant"-{cpu,wall,heap,lock}; do
			[ ! -s "$work/files.$program.$file" ] || record file KiB program="$program" by="$file" <"$work/files.$program.$file"
		done
	done
	cut -d ' ' -f 2 "$work/times.$program.bare" | awk '{ print $1 / 1000 }' | record program-bare ms program="$program"
done
finish
