# SPDX-License-Identifier: BSD-3-Clause
# Shows that the tests of the traps can fail: takes out one protection at a time, builds the library
# without it, and runs the test, which has to notice. See usage below, and CONTRIBUTING.md for what a
# mutant looks like. Run by "make mutants", or by bash in a build directory.
set -u

usage() {
	cat <<'TEXT'
usage: run.sh [-j N] [-d DIR] [-q] [NAME...]      in a build directory (make mutants MUTANTS='...')
       run.sh --list
Takes out one protection after another (the mutants in tests/mutants/*.txt; all, or those named), builds
the library without it, and runs the tests that must then fail.
  -j N    N workers, each with a tree and a build of its own (default: a third of the processors)
  -d DIR  keep the workers' builds in DIR, and use what is there: a minute less the next time; what
          the tests printed is in DIR/out
  -q      quick: the tests are not run on the unchanged library first, and end when they have said
          what was expected
A line for each mutant, and at the end their number:
  killed      the tests failed, and said what the mutant expects
  SURVIVED    a test passed although the protection was gone
  OTHERWISE   a test failed, but for another reason than expected
  BROKEN      the mutant doesn't fit the sources or doesn't build, or the test fails without it
  skipped     a test can't run here
Exit status: 0 when all were killed or skipped, 1 otherwise, 2 when it couldn't begin.
TEXT
}

die() {
	echo "mutants: $*" >&2
	exit 2
}

# ---- what to do ----
srcdir=${srcdir:-$(sed -n 's/^srcdir = //p' Makefile 2>/dev/null)}
[ -n "$srcdir" ] && [ -e "$srcdir/tests/mutants/mutate.py" ] || die "run this in a build directory"
srcdir=$(cd "$srcdir" && pwd)
jobs=$(($(nproc 2>/dev/null || echo 1) / 3))
[ "$jobs" -gt 0 ] || jobs=1
scratch=
keep=
quick=
action=run
names=
while [ $# -gt 0 ]; do
	case $1 in
	-j) jobs=${2:?} && shift ;;
	-j*) jobs=${1#-j} ;;
	-d) scratch=${2:?} keep=1 && shift ;;
	-q) quick=1 ;;
	--list) action=list ;;
	-h | --help) usage && exit 0 ;;
	-*) usage >&2 && exit 2 ;;
	*) names="$names $1" ;;
	esac
	shift
done
command -v python3 >/dev/null || die "python3 is not installed"

# ---- what the tables say ----
declare -A fields
all=
read_tables() {
	local name key value found
	found=$(python3 "$srcdir/tests/mutants/mutate.py" "$srcdir" fields) || exit 2
	while IFS=$'\t' read -r name key value; do
		fields[$name.$key]+=$value$'\n'
		[ "$key" != Without ] || all="$all $name"
	done <<<"$found"
}

# Prints every value of KEY, one a line.
field() { # mutant, key
	printf '%s' "${fields[$1.$2]:-}"
}

read_tables
for name in $names; do
	[ -n "$(field "$name" Without)" ] || die "there is no mutant $name"
done
names=${names:-$all}

list() {
	for name in $names; do
		printf '%-32s %s\n' "$name" "$(field "$name" Without)"
	done
}

[ $action = run ] || { list && exit 0; }

# ---- trees and builds ----
[ -e config.status ] || die "run this in a build directory"
outer=$PWD
if [ -z "$scratch" ]; then
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
fi
# Tests change their user; the programs that they run are in there.
mkdir -p "$scratch" && scratch=$(cd "$scratch" && pwd) && chmod 755 "$scratch"
rm -rf "$scratch/claimed" "$scratch/out" "$scratch/results" "$scratch/baseline"
mkdir -p "$scratch/claimed" "$scratch/out" "$scratch/results" "$scratch/baseline"

# Objects that the previous run changed are newer than their sources: those of its last mutant, or of the one at which
# it was stopped.
fresh_tree() { # worker's directory
	rm -rf "$1/src" && cp -a "$scratch/pristine" "$1/src" || return 1
	cat "$1/mutated" "$1/reverted" 2>/dev/null | (cd "$1/src" && xargs -r touch -c)
	rm -f "$1/mutated" "$1/reverted"
}

# Shared objects only: half as much to compile.
configure_worker() { # worker's directory
	cd "$1/build" || return 1
	[ -e config.status ] && return 0
	eval "set -- $("$outer/config.status" --config)"
	../src/configure "$@" --disable-werror --quiet
}

build_worker() { # worker's directory
	mkdir -p "$1/build" "$1/tmp" && chmod 1777 "$1/tmp"
	fresh_tree "$1" && configure_worker "$1" && make -C "$1/build" -s mutants-build
}

# ---- one test ----
# Whatever a test without its protection left behind: known by the environment.
end_leftovers() { # worker's directory
	for environ in /proc/[0-9]*/environ; do
		pid=${environ#/proc/} && pid=${pid%/environ}
		[ "$pid" != "$BASHPID" ] || continue
		tr '\0' '\n' <"$environ" 2>/dev/null | grep -qxF "CP_MUTANT=$1" && kill -9 "$pid" 2>/dev/null
	done 2>/dev/null
}

start_test() { # worker's directory, test, seconds
	cd "$1/build" || exit 99
	eval "$(make -s tests-environment)"
	export srcdir=../src TMPDIR=$1/tmp CP_MUTANT=$1
	case $2 in
	*.sh) exec timeout -k 5 "$3" bash "$srcdir/$2" ;;
	*) exec timeout -k 5 "$3" "./$2" ;;
	esac
}

# In a hurry, until the test says what it is expected to: a test that has said FAIL fails.
watch_test() { # pid, output, expected
	[ -n "$quick" ] && [ -n "$3" ] || return 0
	while kill -0 "$1" 2>/dev/null; do
		grep -qE -- "^FAIL.*($3)" "$2" 2>/dev/null && kill "$1"
		sleep 0.5
	done
}

run_test() { # worker's directory, test, seconds, output, expected: the test's status
	local status=0 pid
	start_test "$1" "$2" "$3" >"$4" 2>&1 </dev/null &
	pid=$!
	watch_test $pid "$4" "${5:-}"
	wait $pid || status=$?
	[ $status != 124 ] || echo "FAIL: no end after $3 s" >>"$4"
	end_leftovers "$1"
	rm -rf "$1/tmp" && mkdir "$1/tmp" && chmod 1777 "$1/tmp"
	return $status
}

tests_of() { # mutant
	field "$1" Test
}

needed_of() { # mutant: what else must be built
	{
		tests_of "$1" | grep -v '\.sh$'
		field "$1" Build
	} | tr '\n' ' '
}

# ---- one mutant ----
# From its first complaint on, which may have several lines; without one, all that it printed.
failures() { # output
	if grep -qE '^(FAIL|not ok)' "$1"; then
		sed -nE '/^(FAIL|not ok)/,$p' "$1"
	else
		cat "$1"
	fi
}

evidence() { # output, expected
	{
		[ -z "$2" ] || failures "$1" | grep -m1 -E -- "$2"
		grep -m1 -E '^(FAIL|not ok)' "$1"
		tail -n 1 "$1"
	} | head -n 1 | cut -c 1-160
}

# A test that must fail. By chance only: up to RUNS times.
must_fail() { # worker's directory, mutant, test: sets verdict and why
	local runs seconds says output status=0 run=0
	runs=$(field "$2" Runs)
	seconds=$(field "$2" Seconds)
	says=$(field "$2" "Says $3")
	output=$scratch/out/$2.${3//\//_}
	while [ $status = 0 ] && [ $((run += 1)) -le "${runs:-1}" ]; do
		run_test "$1" "$3" "${seconds:-120}" "$output" "$says" || status=$?
	done
	why="$(basename "$3"): $(evidence "$output" "$says")"
	case $status in
	0) verdict=SURVIVED why=$(basename "$3") ;;
	77) verdict=skipped ;;
	*)
		verdict=killed
		[ -z "$says" ] || failures "$output" | grep -qE -- "$says" || verdict=OTHERWISE
		[ "$run" = 1 ] || why="(run $run) $why"
		;;
	esac
}

# Leaves the paths of the changed files in the file "mutated".
apply() { # worker's directory, mutant
	python3 "$1/src/tests/mutants/mutate.py" "$1/src" apply "$2" >"$1/mutated"
}

revert() { # worker's directory
	[ -e "$1/mutated" ] || return 0
	while read -r file; do
		cp "$scratch/pristine/$file" "$1/src/$file" && touch "$1/src/$file"
	done <"$1/mutated"
	mv "$1/mutated" "$1/reverted"
}

build_mutant() { # worker's directory, mutant
	local settings=()
	mapfile -t settings < <(field "$2" Make)
	# Settings of make change no file's time.
	[ ${#settings[@]} = 0 ] || rm -f "$1/build/libcprof.la"
	# The tool too: the mutant before may have been in it.
	make -C "$1/build" -s libcprof.la $([ -e "$1/build/cprof" ] && echo cprof) $(needed_of "$2") "${settings[@]}" >"$scratch/out/$2.make" 2>&1
}

try_mutant() { # worker's directory, mutant: sets verdict and why
	local test
	for test in $(tests_of "$2"); do
		[ -z "$quick" ] || break
		# Another worker may be at it.
		while [ ! -s "$scratch/baseline/${test//\//_}" ]; do
			sleep 0.2
		done
		case $(cat "$scratch/baseline/${test//\//_}") in
		0) ;;
		77) verdict=skipped why="$test is skipped here" && return ;;
		*) verdict=BROKEN why="$test fails without any change" && return ;;
		esac
	done
	apply "$1" "$2" >"$scratch/out/$2.apply" 2>&1 ||
		{ verdict=BROKEN why=$(tail -n 1 "$scratch/out/$2.apply") && return; }
	build_mutant "$1" "$2" ||
		{ verdict=BROKEN why="does not build: $(grep -m1 -i error "$scratch/out/$2.make")" && return; }
	for test in $(tests_of "$2"); do
		must_fail "$1" "$2" "$test"
		[ "$verdict" = killed ] || return
	done
}

# ---- workers ----
# Several workers take from one list: who makes the directory has the item.
claim() { # item
	mkdir "$scratch/claimed/${1//\//_}" 2>/dev/null
}

run_baseline() { # worker's directory
	local test status
	for test in $tests; do
		claim "$test" || continue
		status=0
		case $test in
		*.sh) ;;
		*) make -C "$1/build" -s "$test" >"$scratch/out/baseline.make" 2>&1 || status=99 ;;
		esac
		[ $status != 0 ] || run_test "$1" "$test" 600 "$scratch/out/baseline.${test//\//_}" || status=$?
		echo $status >"$scratch/baseline/${test//\//_}"
		[ $status = 0 ] || echo "mutants: $test, without any change: status $status," \
			"$(evidence "$scratch/out/baseline.${test//\//_}" '')"
	done
}

run_mutants() { # worker's directory
	local name began
	for name in $names; do
		claim "mutant $name" || continue
		began=$SECONDS verdict='' why=''
		try_mutant "$1" "$name"
		revert "$1"
		# The next one that is built with settings of its own must not stay.
		[ -z "$(field "$name" Make)" ] || rm -f "$1/build/libcprof.la"
		echo "$verdict" >"$scratch/results/$name"
		printf '%-9s %-34s %3d s  %s\n' "$verdict" "$name" $((SECONDS - began)) "$why"
	done
}

work() { # worker's directory
	mkdir -p "$1"
	build_worker "$1" >"$1/build.out" 2>&1 ||
		{ tail -n 20 "$1/build.out" >&2 && echo "mutants: the unchanged tree does not build" >&2 && return 1; }
	[ -n "$quick" ] || run_baseline "$1"
	run_mutants "$1"
}

for_all_workers() {
	local n failed=0 pids=''
	for n in $(seq "$jobs"); do
		work "$scratch/$n" &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || failed=1
	done
	return $failed
}

number() { # verdict
	cat "$scratch/results/"* 2>/dev/null | grep -cx "$1"
}

summary() {
	local killed skipped
	killed=$(number killed) skipped=$(number skipped)
	echo "mutants: $killed killed, $(number SURVIVED) survived, $(number OTHERWISE) otherwise," \
		"$(number BROKEN) broken, $skipped skipped, of $count"
	[ -z "$keep" ] || echo "mutants: what the tests printed is in $scratch/out"
	[ $((killed + skipped)) = "$count" ]
}

# A function, and the exit in one line with it: this file may change while it runs.
main() {
	tests=$(for name in $names; do tests_of "$name"; done | sort -u)
	count=$(echo $names | wc -w)
	echo "mutants: $count, in $jobs build(s) under $scratch"
	rm -rf "$scratch/pristine"
	make -s distdir distdir="$scratch/pristine" >"$scratch/out/distdir" 2>&1 ||
		{ tail -n 20 "$scratch/out/distdir" >&2 && die "no copy of the sources could be made"; }
	for_all_workers || die "a worker failed"
	summary
}

main; exit
