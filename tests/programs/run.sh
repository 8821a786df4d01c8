# SPDX-License-Identifier: BSD-3-Clause
# Programs that nobody here wrote, in all five modes at once, with wakers, and at the highest rates: the profiled program
# must not notice, and the profiles must be whole. "make programs" runs it (NAMES="git perl": some of them); see usage.
#
# A program is a file beside this one, sourced by bash:
#
#     packages="..."         what Debian has it in (./bootstrap programs reads this, too)
#     needs="..."            commands without which it is skipped
#     seconds=N              more than that is a hang (600)
#     interval=BYTES         of the heap mode (1: exact)
#     about="..."            one line for --list
#     prepare()              makes what both runs read, once, in $shared
#     load()                 the work, in an empty directory of its own, with $shared to read: what it prints (stdout and
#                            stderr apart) and its exit status are compared. "run COMMAND" is with or without the profiler,
#                            "serve COMMAND" the same in the background ($server)
#     normalize()            a filter of both outputs, for what the program does not do twice alike
#     verify()               more to look at: has MODE REGEX (a stack, leaf first), $profiles, $work
#     at_least MODE N        samples that must be there; by default cpu 20, wall 20, heap 1000, lock 0, io 1
#     incomplete=PERCENT     of stacks that may be cut short (0.1)
#     compiles=yes           the program compiles code that has no call frame information and no frame pointers: a stack
#                            that is cut short there doesn't count (no)
#     lost=PERCENT           of what a mode counts that may be lost (0.1)
#     as_user=(COMMAND)      put before every command that is run
#     more=(NAME=VALUE)      settings of the profiler beside those below
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${CP_LIBRARY:=$PWD/.libs/libcprof.so}"
export CP_LIBRARY

usage() {
	cat <<'END_OF_USAGE'
usage: run.sh [--list | --packages | --help] [--keep DIR] [PROGRAM...]
Profiles programs (all that are known, if none is named) in all modes at once, and compares with a run without the
profiler. Runs in the build directory. Ends with a table; exit status 1 when something failed, 77 when all were skipped.
  --list      names and what they do
  --packages  Debian packages that they need
  --keep DIR  outputs and profiles of each program stay in DIR/PROGRAM
END_OF_USAGE
}

names() {
	for file in "$here"/*.sh; do
		name=$(basename "$file" .sh)
		case $name in run | check | compilers | servers) ;; *) echo "$name" ;; esac
	done
}

defaults() {
	packages= needs= seconds=600 interval=1 about= incomplete=0.1 compiles=no lost=0.1 more=() as_user=()
	declare -gA least=([cpu]=20 [wall]=20 [heap]=1000 [lock]=0 [io]=1)
	prepare() { :; }
	normalize() { cat; }
	verify() { :; }
}

at_least() { # mode n
	least[$1]=$2
}

definition() { # name
	[ -e "$here/$1.sh" ] || { echo "$1: not known: $(names | tr '\n' ' ')" >&2; exit 2; }
	defaults
	. "$here/servers.sh"
	. "$here/$1.sh"
}

# ---- one run of a load, in a process group of its own that timeout can end ----

run() {
	settings
	"${as_user[@]}" "${prefix[@]}" "$@"
}

serve() { # command...: output in server.out and server.err
	settings
	# exec: it is the server that signals go to.
	(exec "${as_user[@]}" "${prefix[@]}" "$@" >server.out 2>server.err) &
	server=$!
}

# Each command has a directory for its profiles.
settings() {
	prefix=(env)
	[ "$kind" = profiled ] || return
	set -- "$(mktemp -d "$work/profiles/XXXXXX")"
	chmod a+rwx "$1"
	prefix=(env LD_PRELOAD="$CP_LIBRARY"
		CPUPROFILE="$1/cpu.pb" CPUPROFILE_FREQUENCY=10000
		WALLPROFILE="$1/wall.pb" WALLPROFILE_FREQUENCY=1000
		HEAPPROFILE="$1/heap.pb" CPROF_HEAP_INTERVAL="$interval" CPROF_HEAP_VIEWS=mmap
		LOCKPROFILE="$1/lock.pb" CPROF_LOCK_THRESHOLD=0
		IOPROFILE="$1/io.pb" CPROF_IO_WAKERS=1 CPROF_IO_TARGET=last
		CPROF_MAX_DEPTH=4096 CPROF_CHECKPOINT=2s CPROF_SYMBOLIZE=names "${more[@]}")
}

one_load() { # name bare|profiled
	definition "$1"
	kind=$2
	mkdir -p "$work/$2" "$work/profiles"
	cd "$work/$2" || exit 99
	load
}

# ---- one program ----

problem() {
	echo "FAIL: $program: $*"
	problems=$((problems + 1))
}

timed_load() { # bare|again|profiled: sets status and took (ms); a machine may be busy, so the bound is wide
	began=$(date +%s%N)
	timeout -k 5 "$seconds" bash "$here/run.sh" --load "$program" "$1" >"$work/$1.stdout" 2>"$work/$1.stderr" </dev/null
	status=$?
	took=$((($(date +%s%N) - began) / 1000000))
	for stream in stdout stderr; do
		normalize <"$work/$1.$stream" >"$work/$1.$stream.normal"
	done
	echo "$status" >"$work/$1.status"
}

differs() { # run other-run stream
	! cmp -s "$work/$1.$3.normal" "$work/$2.$3.normal"
}

compare() {
	[ "$bare_status" = 0 ] || problem "without the profiler: exit status $bare_status: $(tail -n 3 "$work/bare.stderr")"
	[ "$status" = "$bare_status" ] ||
		problem "exit status $status, without the profiler $bare_status: $(tail -n 5 "$work/profiled.stderr")"
	[ -s "$work/bare.stdout" ] || problem "prints nothing that could be compared"
	for stream in stdout stderr; do
		differs profiled bare $stream || continue
		problem "another $stream: $(diff "$work/bare.$stream.normal" "$work/profiled.$stream.normal" | head -n 10)"
		[ -e "$work/again.status" ] || timed_load again
		differs again bare $stream && echo "# $program: two runs without the profiler differ, too: it needs a normalize()"
	done
	if grep -h '^libcprof:' "$work/profiled.stderr" "$work/profiled.stdout" "$work/profiled/server.err" 2>/dev/null | head -n 3 | grep .; then
		problem "the library speaks"
	fi
}

mode_of() { # file
	base=$(basename "$1")
	case $base in
	heap.mmap.pb*) echo mmap ;;
	lock.*) echo lock ;;
	*) echo "${base%%.*}" ;;
	esac
}

# Which sample types a file has: companions have their own.
types_of() { # file
	case $(basename "$1") in
	*.peak.*) echo peak ;;
	*.holders.*) echo holders ;;
	*.wakers.*) echo wakers ;;
	*) mode_of "$1" ;;
	esac
}

# Every file is valid; comments.awk adds up the statements of the files about themselves.
read_profiles() {
	profiles=$(find "$work/profiles" -type f | sort)
	left=$(find "$work/profiles" -type f ! -name '*.pb' ! -name '*.pb.[0-9]*' | head -n 5)
	[ -z "$left" ] || problem "more than profiles is left: $left"
	for mode in cpu wall heap peak lock holders wakers mmap io; do
		of_mode=$(for file in $profiles; do [ "$(types_of "$file")" = $mode ] && echo "$file"; done)
		[ -n "$of_mode" ] || continue
		"$pprof_check" --mode $mode $of_mode >"$work/check.log" 2>&1 ||
			problem "not valid as $mode: $(head -n 3 "$work/check.log")"
	done
	for file in $profiles; do
		echo "file $(mode_of "$file") $(basename "$file")"
		"$pprof_check" --comments --total "$file" 2>/dev/null
	done | awk -v compiles="$compiles" -f "$here/comments.awk" >"$work/sums"
	sum() { awk -v k="$1" '$1 == k { print $2 }' "$work/sums"; }
	command -v go >/dev/null || return
	for mode in cpu wall heap lock io; do
		# The largest of each mode.
		file=$(ls -S "$work"/profiles/*/"$mode".pb* 2>/dev/null | head -n 1)
		[ -n "$file" ] || continue
		go tool pprof -top -nodecount=30 "$file" >"$work/top.$mode" 2>"$work/top.err" ||
			problem "go tool pprof: $file: $(tail -n 2 "$work/top.err")"
	done
}

above() { # number limit
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'
}

judge() {
	for mode in cpu wall heap lock io; do
		[ "$(sum "$mode.samples")" -ge "${least[$mode]}" ] ||
			problem "$mode: $(sum "$mode.samples") samples, not ${least[$mode]}"
		above "$(sum "$mode.lost")" "$lost" && problem "$mode: $(sum "$mode.lost") % were lost"
		above "$(sum "$mode.incomplete")" "$incomplete" &&
			problem "$mode: $(sum "$mode.incomplete") % of stacks are incomplete: $(sum "$mode.where")"
	done
}

has() { # mode regex
	for file in "$work"/profiles/*/"$1".pb*; do
		[ -e "$file" ] && grep -qE -- "$2" <("$pprof_check" --raw "$file" 2>/dev/null | cut -f3) && return
	done
	problem "$1: no stack matches $2"
}

row() { # result
	printf '%-12s %-7s %7s %8s %8s %9s %7s %8s %7s %6s %6s %7s\n' "$program" "$1" \
		"$(sum cpu.samples)" "$(sum cpu.seconds)" "$(sum wall.samples)" "$(sum heap.samples)" "$(sum lock.samples)" \
		"$(sum worst_lost)" "$(sum worst_incomplete)" "$(sum named)" "$(sum files)" \
		"$(awk -v a="$profiled_took" -v b="$bare_took" 'BEGIN { printf "%.2f", a / (b + 1) }')"
}

heading() {
	printf '%-12s %-7s %7s %8s %8s %9s %7s %8s %7s %6s %6s %7s\n' program result \
		cpu 'cpu s' wall heap lock 'lost %' 'cut %' 'named%' files 'times'
}

one_program() { # name; prints its row last
	program=$1
	problems=0
	definition "$program"
	for command in $needs; do
		command -v "$command" >/dev/null || { printf '%-12s skipped %s is not installed (%s)\n' "$program" "$command" "$packages"; return 77; }
	done
	work=$root/$program shared=$root/$program/shared
	rm -rf "$work"
	mkdir -p "$shared" "$work/profiles"
	export work shared
	(cd "$shared" && prepare) >"$work/prepare.log" 2>&1 ||
		{ printf '%-12s FAIL    can not be prepared: %s\n' "$program" "$(tail -n 3 "$work/prepare.log")"; return 1; }
	timed_load bare
	bare_status=$status bare_took=$took
	timed_load profiled
	profiled_took=$took
	compare
	read_profiles
	judge
	verify
	[ $problems = 0 ] && row ok || row FAIL
	[ $problems = 0 ]
}

main() {
	keep=
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage; exit 0 ;;
		--list) for name in $(names); do (definition "$name"; printf '%-12s %s\n' "$name" "$about"); done; exit 0 ;;
		--packages) for name in $(names); do (definition "$name"; echo $packages); done | tr ' ' '\n' | sort -u; exit 0 ;;
		--load) shift; one_load "$@"; exit ;;
		--keep) keep=$(realpath -m "$2"); shift 2 ;;
		--*) usage >&2; exit 2 ;;
		*) break ;;
		esac
	done
	builddir=$PWD
	pprof_check=$PWD/tests/tools/pprof-check
	[ -x "$pprof_check" ] && [ -e "$CP_LIBRARY" ] || { echo "run.sh: to be run in the build directory, after make check" >&2; exit 2; }
	root=${keep:-$(mktemp -d)}
	[ -n "$keep" ] || trap 'rm -rf "$root"' EXIT
	mkdir -p "$root"
	chmod a+rx "$root"
	failed=0 done=0
	: >"$root/table"
	for name in ${*:-$(names)}; do
		echo "==> $name"
		one_program "$name" >"$root/out"
		result=$?
		tail -n 1 "$root/out" >>"$root/table"
		sed '$d' "$root/out"
		[ $result = 77 ] || done=$((done + 1))
		[ $result = 0 ] || [ $result = 77 ] || failed=$((failed + 1))
		tail -n 1 "$root/out"
		[ -n "$keep" ] || rm -rf "${root:?}/$name"
	done
	echo
	heading
	cat "$root/table"
	echo "$done programs, $failed failed"
	[ $failed = 0 ] || exit 1
	[ $done -gt 0 ] || exit 77
}

main "$@"
