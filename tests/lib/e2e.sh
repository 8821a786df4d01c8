# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts of tests/e2e and tests/traps. They run in the build directory with
# CP_LIBRARY set; see CONTRIBUTING.md.
#
#     . "$srcdir/tests/lib/e2e.sh"
#     same_as_bare cpu busy ./tests/traps/some-host # profile: $work/busy.pb, output: $work/busy.{out,err}
#     check_valid "$work/busy.pb"
#     check_top "$work/busy.pb" 1 hot
#     finish
set -u
# A library of one mode has sourced it already.
! declare -F finish >/dev/null || return 0

: "${CP_LIBRARY:?is the built libcprof.so}"
: "${srcdir:?is the source directory}"
builddir=$PWD
pprof_check=$builddir/tests/tools/pprof-check
cprof=$builddir/cprof
work=$(mktemp -d)
failures=0
children=
# Tests look at the file that the library writes; trap_helper_at_exit and symbolize.sh at what is added.
export CPROF_SYMBOLIZE="${CPROF_SYMBOLIZE:-names}"
# Nothing is left in a home; symbolize-cache.sh tests that.
export CPROF_CACHE=
# Put before every command by profiled and bare; a script whose programs may hang says "$bounded".
limit=
bounded="timeout -s KILL 60"
# Set by tests/traps/modes.sh: the modes to run in, in place of those that the script asks for. Then only the
# programs' behaviour is checked (harm), not the contents of the profiles (fail).
if [ "${CP_MODES:-}" ]; then
	PATH=$(cd "$srcdir" && pwd)/tests/lib/modes:$PATH
fi

# The pprof that tables are compared with is the distribution's: other versions lay out dates in another way. Newer
# versions of Go also look through their build cache before they start a tool, which takes half a second.
go() {
	local go=/usr/bin/go
	[ -x "$go" ] || go=$(type -P go)
	if [ "${1-} ${2-}" = 'tool pprof' ]; then
		shift 2
		[ -s "$work/.pprof" ] || "$go" tool -n pprof >"$work/.pprof"
		"$(<"$work/.pprof")" "$@"
	else
		"$go" "$@"
	fi
}
[ -x /usr/bin/go ] || type -P go >/dev/null || unset -f go

# When a process began, in ticks: with its number it says which process that is.
began() { # pid
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return
	# Behind the name, which may have anything in it.
	set -- ${stat##*) }
	echo "${20}"
}

cleanup() {
	local child
	for child in $children; do
		# Most have ended long ago, and somebody else may have the number.
		[ "$(began "${child%:*}")" != "${child#*:}" ] || kill -9 "${child%:*}" 2>/dev/null
	done
	rm -rf "$work"
}
trap cleanup EXIT

# For awk programs, which put it first: "$awk_root"'...'. busybox's awk may be built without sqrt.
awk_root='function root(x,  r, i) { for (r = x > 1 ? x : 1; i++ < 60;) r = (r + x / r) / 2; return r }
'

# A process to end with the test, whatever happens.
owns() { # pid
	children="$children $1:$(began "$1")"
}

# The program did something else than it does without the profiler.
harm() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# Something else is wrong: mostly with a profile.
fail() {
	[ -z "${CP_MODES:-}" ] || return 0
	harm "$@"
}

skip() {
	echo "SKIP: $*"
	exit 77
}

need() { # program...
	for program; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
}

# Run a command under the profiler: profile $work/NAME.pb, output $work/NAME.out and .err, exit
# status (128 + N for signal N) in $status. More settings come from the environment.
profiled() { # name command...
	profiled_by CPUPROFILE "$@"
}

# The same in the mode that VARIABLE turns on.
profiled_by() { # variable name command...
	local variable=$1
	name=$2
	shift 2
	rm -f "$work/$name.pb"*
	status=0
	$limit env LD_PRELOAD="$CP_LIBRARY" "$variable=$work/$name.pb" "$@" \
		>"$work/$name.out" 2>"$work/$name.err" || status=$?
}

# The same command without the profiler.
declare -A bare_run bare_status
bare() { # name command...
	name=$1
	shift
	status=0
	$limit "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
	bare_run["$*"]=$name bare_status["$*"]=$status
}

# Wait for a process that the test has begun. Its exit status is in $status.
reap() { # pid
	status=0
	wait "$1" 2>/dev/null || status=$?
}

# Run a command in a mode: its status and output are those of its run without the profiler (the last one by bare, or
# one that is made here and must succeed), and the profiler says nothing.
same_as_bare() { # mode name command...
	local mode=$1 profile=$2
	shift 2
	if [ -z "${bare_run["$*"]:-}" ]; then
		bare "bare-of-$profile" "$@"
		check_status "bare-of-$profile" 0
	fi
	profiled_by "${mode^^}PROFILE" "$profile" "$@"
	check_ended "$profile" "${bare_status["$*"]}" "${bare_run["$*"]}"
}

check_status() { # name expected
	[ "$status" = "$2" ] || harm "$1: exit status $status, not $2: $(tail -n 12 "$work/$1.err" 2>/dev/null)"
}

check_same_output() { # name other-name
	cmp -s "$work/$1.out" "$work/$2.out" || harm "$1: output differs from $2's"
}

# The profiler writes nothing to stderr (a line there would be a complaint).
check_quiet() { # name
	local said
	said=$(grep '^libcprof:' "$work/$1.err" | grep -v 'CPROF_UNWIND: libunwind .*(not built in)')
	[ -z "$said" ] || harm "$1: ${said%%$'\n'*}"
}

# The last run ended with a status, with the output of another run, if one is named, and the profiler said nothing.
check_ended() { # name expected [other-name]
	check_status "$1" "$2"
	[ $# -lt 3 ] || check_same_output "$1" "$3"
	check_quiet "$1"
}

# The same, and its profile is valid.
check_ended_valid() { # name expected [other-name]
	check_ended "$@"
	check_valid "$work/$1.pb"
}

# Run a command as RUN (bare, profiled, heap_profiled ...) does; the status is 0.
ends_well() { # run name command...
	"$@"
	check_status "$2" 0
}

# The same, and the profiler said nothing.
runs_well() { # run name command...
	"$@"
	check_ended "$2" 0
}

# The same, and the profile is valid.
profiles_well() { # run name command...
	"$@"
	check_ended_valid "$2" 0
}

check_valid() { # file...
	check_valid_as cpu "$@"
}

# A companion, such as NAME.peak.EXT or NAME.wakers.EXT, has types of its own.
mode_of() { # file mode
	case ${1##*/} in
	*.peak.*) echo peak ;;
	*.holders.*) echo holders ;;
	*.wakers.*) echo wakers ;;
	*) echo "$2" ;;
	esac
}

check_valid_as() { # mode file...
	valid_mode=$1
	shift
	for file; do
		as=(--mode "$(mode_of "$file" "$valid_mode")")
		[ -z "${CP_MODES:-}" ] || as=()
		[ -s "$file" ] || { fail "$file: missing or empty"; continue; }
		"$pprof_check" "${as[@]}" "$file" >"$work/check.log" 2>&1 ||
			harm "$file is not valid: $(head -n 5 "$work/check.log")"
	done
}

# FUNCTION is among the first N by self time.
check_top() { # file n function
	"$pprof_check" --top "$2" "$1" 2>/dev/null | grep -qF -- "$3" ||
		fail "$1: $3 is not in the top $2: $("$pprof_check" --top "$2" "$1" 2>&1 | head -n 8)"
}

# "sum squares" of the weights of a CPU profile's samples. A tick may come late where processors are scarce, and counts
# for all the time since; so a share P of the sum has a variance of P (1 - P) times the squares, not one by the number of
# samples.
weights() { # file
	"$pprof_check" --times "$1" | awk '$1 == "event" { sum += $4; squares += $4 * $4 } END { printf "%.0f %.0f\n", sum, squares }'
}

# Some sample's stack matches a regular expression (functions leaf first, joined by ";").
check_stack() { # file regex
	"$pprof_check" --raw "$1" 2>/dev/null | grep -qE -- "$2" && return
	fail "$1: no stack matches $2; its first stacks and its comments:"
	"$pprof_check" --raw "$1" 2>&1 | cut -c 1-160 | head -n 12
	"$pprof_check" --comments "$1" 2>&1
}

check_no_stack() { # file regex
	if "$pprof_check" --raw "$1" 2>/dev/null | grep -qE -- "$2"; then
		fail "$1: a stack matches $2"
	fi
}

# A line of the profile's comments matches a regular expression.
check_comment() { # file regex
	"$pprof_check" --comments "$1" 2>/dev/null | grep -qE -- "$2" || fail "$1: no comment matches $2"
}

# Poll until a condition holds; at most SECONDS. A wait for an event, never a measurement.
wait_for() { # seconds command...
	local until=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/[.,]/}" -lt $until ] || return 1
		sleep 0.05
	done
}

finish() {
	[ "$failures" = 0 ] || { echo "$failures check(s) failed"; exit 1; }
	exit 0
}
