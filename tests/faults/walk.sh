# SPDX-License-Identifier: BSD-3-Clause
# Walks through the calls that the library makes for itself, and makes each fail in turn: the n-th
# mmap, n = 1, 2, ... until a run sees no more of them; then the n-th openat, ...
#
#	walk.sh [CALL:HOW[+][/K]...]          + : from the n-th on, all of them fail; /K: every K-th only
#
# After each run: the program's output and exit status are as ever; it ended; files at their names are
# whole, no others are left; at most one line was said (with +: one a profile); and where a profile is missing
# or lacks what went before, a line says so (a comment, of a thread without a timer) and, for a single fault after the
# start, the dump made earlier is there.
# FAULT_WAY=api: the program starts and stops by cprof_start and cprof_stop, whose results say what is missing;
# launched: a shell has samples, and becomes the program by exec.
# `make faults` runs all of it, tests/traps/faults/run.sh a few. FAULT_JOBS run at a time; FAULT_STEP=k takes every k-th
# point. What was said, and from where the call came, is in $FAULT_SAID, if set; all files of a run that failed stay in $FAULT_KEEP.
set -u
: "${CP_LIBRARY:?is the built libcprof.so}"
: "${srcdir:?is the source directory}"
inject=$PWD/tests/faults/inject
host=$PWD/tests/faults/host
pprof_check=$PWD/tests/tools/pprof-check
jobs=${FAULT_JOBS:-3}
seconds=${FAULT_LIMIT:-60}
way=${FAULT_WAY:-preload}
launch=()
[ "$way" = launched ] && launch=("$BASH" -c 'for ((i = 0; i < 40000; i++)); do :; done; exec "$0"')

everything="mmap:ENOMEM mmap:ENOMEM+ mprotect:ENOMEM munmap:ENOMEM
	timer_create:EAGAIN timer_create:EAGAIN+ timer_create:EINVAL timer_create:EINVAL+ timer_settime:EINVAL clone3:EAGAIN clone3:EAGAIN+ clone:EAGAIN
	openat:EMFILE openat:EMFILE+ openat:EACCES openat:EINTR fcntl:EMFILE fcntl:EMFILE+ fstat:EIO newfstatat:EIO
	newfstatat:EACCES faccessat2:EACCES
	write:ENOSPC write:ENOSPC+ write:EIO write:EINTR write:short fsync:EIO fsync:ENOSPC fsync:EINTR
	renameat:ENOSPC renameat:EACCES+ renameat2:EACCES renameat2:EINVAL linkat:EPERM unlinkat:EACCES
	read:EIO read:EINTR read:short getdents64:EIO close:late:EIO close:late:EINTR flock:ENOLCK
	getcwd:ENOENT readlink:EACCES readlinkat:EACCES getrandom:EAGAIN prlimit64:EPERM prctl:EPERM uname:EPERM
	futex:EINTR futex:EAGAIN process_vm_readv:EPERM+/9 process_vm_readv:EPERM/9 pread64:EIO/9 pread64:EIO+/9 pread64:short/9"

# The settings of one run. The wall clock is slow, because its calls depend on time. With FAULT_SYMBOLIZE=full the
# helper takes part.
profile() { # directory, then inject's arguments up to --
	local at=$1
	shift
	if [ "$way" = api ]; then
		"$inject" --library "$CP_LIBRARY" --report "$at/report" --limit "$seconds" "$@" -- env \
			LD_PRELOAD="$CP_LIBRARY" "$host" api "$at" >"$at/out" 2>"$at/err"
		return
	fi
	"$inject" --library "$CP_LIBRARY" --report "$at/report" --limit "$seconds" "$@" -- env LD_PRELOAD="$CP_LIBRARY" \
		CPUPROFILE_FREQUENCY=1000 CPUPROFILE="$at/cpu.pb" WALLPROFILE_FREQUENCY=200 WALLPROFILE="$at/wall.pb" \
		LOCKPROFILE="$at/lock.pb" CPROF_LOCK_THRESHOLD=0 HEAPPROFILE="$at/heap.pb" CPROF_HEAP_INTERVAL=64K \
		CPROF_SYMBOLIZE="${FAULT_SYMBOLIZE:-names}" "${launch[@]}" "$host" >"$at/out" 2>"$at/err"
}

# Without memory for zlib a profile is not compressed, which every reader takes; our check doesn't.
compressed() { # file
	local magic=
	magic=$(head -c 2 "$1" | od -An -tx1)
	[ "$magic" = " 1f 8b" ] || { gzip -c "$1" >"$1.z" && cat "$1.z" >"$1" && rm -f "$1.z"; }
}

has() { # file function
	"$pprof_check" --raw "$1" 2>/dev/null | grep -qE "$2"
}

# The text that replaces it.
held() { # file
	echo "$("$pprof_check" --raw "$1" | wc -l) stacks; $("$pprof_check" --comments "$1" | grep -E '^(samples|visits|wall time):')"
}

# The library says it as it starts: there was nothing before.
refused() { # mode
	grep -qiE "no $1 profile|$1profile: no profile|no profile" "$2/err"
}

problems() { # directory status beyond
	local at=$1 status=$2 beyond=$3 lines most=1 said mode file
	[ "$status" = 7 ] || echo "exit status $status: $(grep -v ^libcprof "$at/err" | head -n 2)"
	cmp -s "$at/out" "$expected" || echo "output: $(diff "$expected" "$at/out" | head -n 6 | tr '\n' ' ')"
	grep -q ^hung "$at/report" && echo "hung: $(grep ^hung "$at/report" | tr '\n' ';')"
	lines=$(wc -l <"$at/err")
	said=$(grep -c '^libcprof: ' "$at/err")
	[ "$lines" = "$said" ] || echo "on stderr: $(grep -v '^libcprof: ' "$at/err" | head -n 2)"
	# One a profile and process: the peak and the holders have files of their own.
	[ "$beyond" = 1 ] && most=20
	[ "$lines" -le "$most" ] || echo "$lines lines: $(head -n 3 "$at/err")"
	for file in "$at"/*.pb*; do
		[ -e "$file" ] || continue
		mode=${file##*/}
		compressed "$file"
		case $mode in
		*.peak.*) mode=peak ;;
		*.holders.*) mode=holders ;;
		*.wakers.*) mode=wakers ;;
		esac
		"$pprof_check" --mode "${mode%%.*}" "$file" >"$at/check" 2>&1 || echo "not whole: ${file##*/}: $(head -n 1 "$at/check")"
		[ "$(stat -c %a "$file")" = 600 ] || echo "mode $(stat -c %a "$file"): ${file##*/}"
	done
	if ! grep -q '^failed unlinkat' "$at/report"; then
		find "$at" -name '.*.tmp' | grep -q . && echo "left: $(find "$at" -name '.*.tmp' -printf '%f ')"
	fi
	for mode in cpu heap wall lock; do
		missing "$at" "$mode" "$said" "$beyond"
	done
}

# Function that each mode's profile has seen before the fault at the earliest; lock has none before threads.
missing() { # directory mode said beyond
	local f=before
	[ "$2" = lock ] && f=worker
	# The visits of the wall clock depend on other work on the machine, and on the tracer, which stops the pacer
	# at each of its calls: four dumps may take it most of the program's life. It has seen main in any case.
	# musl's function below main has no name.
	[ "$2" = wall ] && f='[;	](_start|libc\.so\+0x[0-9a-f]+)$'
	has "$1/$2.pb" "$f" && return
	# A thread without a timer is not sampled, which the profile itself says.
	[ "$2" = cpu ] && "$pprof_check" --comments "$1/cpu.pb" 2>/dev/null | grep -q 'threads without one are not sampled' && return
	# The interface's functions return errors, and say nothing.
	[ "$way" = api ] && [ "$(cat "$1/result")" != "0 0" ] && return
	if [ "$3" = 0 ]; then
		echo "no line, and $2.pb $([ -e "$1/$2.pb" ] && echo "lacks $f: $(held "$1/$2.pb")" || echo "is missing")"
	elif [ "$4" = 0 ] && { [ "$2" = cpu ] || [ "$2" = heap ]; } && [ ! -e "$1/$2.pb" ] && ! has "$1/$2.0001.pb" "$f" && ! refused "$2" "$1"; then
		echo "$2: neither the profile nor the earlier dump has $f"
	fi
}

point() { # call how n beyond
	local at status=0 found beyond=
	at=$(mktemp -d "$work/point.XXXXXX")
	[ "$4" = 1 ] && beyond=--beyond
	profile "$at" --call "$1" --how "$2" --at "$3" $beyond || status=$?
	if ! grep -q '^seen' "$at/report" 2>/dev/null; then
		echo "$3 FAIL the injector did not come to an end: status $status" >>"$work/results"
	elif ! grep -q '^failed' "$at/report"; then
		echo "$3 end" >>"$work/results"
	else
		found=$(problems "$at" "$status" "$4")
		[ -z "$found" ] && echo "$3 ok" >>"$work/results"
		[ -n "$found" ] && printf '%s FAIL %s\n' "$3" "$(printf '%s' "$found" | tr '\n' '|') [$(grep -m1 '^failed' "$at/report")]" >>"$work/results"
		[ -n "${FAULT_SAID:-}" ] && printf '%s %s %s\t%s\t%s\n' "$1" "$2" "$3" "$(grep -m1 '^failed' "$at/report" | cut -d' ' -f4-)" "$(head -n 3 "$at/err" | tr '\n' '|')" >>"$FAULT_SAID"
	fi
	[ -n "${FAULT_KEEP:-}" ] && grep -q "^$3 FAIL" "$work/results" && mkdir -p "$FAULT_KEEP" && cp -r "$at" "$FAULT_KEEP/$1-$2-$3"
	rm -rf "$at"
}

# One call and way to fail, to the end of the program: prints a line, adds to the totals.
walk() { # call how beyond last
	local n=1 i bad good
	: >"$work/results"
	while [ "$n" -le "$4" ] && ! grep -q ' end$' "$work/results"; do
		for ((i = 0; i < jobs && n <= $4; i++, n += step)); do
			point "$1" "$2" "$n" "$3" &
		done
		wait
	done
	good=$(grep -c ' ok$' "$work/results")
	bad=$(grep -c ' FAIL ' "$work/results")
	points=$((points + good + bad))
	failed=$((failed + bad))
	printf '%-18s %-10s %5d points, %d failed%s\n' "$1" "$2$([ "$3" = 1 ] && echo +)" $((good + bad)) "$bad" "$(date +' (%T)')"
	grep ' FAIL ' "$work/results" | sort -n | head -n "${FAULT_SHOW:-12}"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected=$work/expected
mkdir "$work/bare"
arguments=
[ "$way" = api ] && arguments="api $work/bare"
"$host" $arguments >"$expected" || [ $? = 7 ] || { echo "the host alone ends with $?"; exit 1; }
mkdir "$work/sane"
profile "$work/sane" --call none --at 1 || [ $? = 7 ] || { cat "$work/sane/err"; exit 77; }
points=0 failed=0
list=${*:-$everything}
for item in $list; do
	how=${item#*:}
	beyond=0
	step=${FAULT_STEP:-1}
	[ "$how" != "${how%/*}" ] && step=$((step * ${how##*/})) && how=${how%/*}
	[ "$how" != "${how%+}" ] && beyond=1
	walk "${item%%:*}" "${how%+}" "$beyond" "${FAULT_LAST:-100000}"
done
echo "$points points, $failed failed"
[ "$failed" = 0 ]
