# SPDX-License-Identifier: BSD-3-Clause
# Runs the scripts of the traps in every mode alone, in all together, and preloaded with none, however
# they ask for a profile themselves; see usage below. Run by make check-all (the quick ones), by "make
# trap-modes" (all), or by bash in a build directory. tests/lib/e2e.sh has what CP_MODES changes.
set -u

usage() {
	cat <<'TEXT'
usage: modes.sh [-a] [-j N] [-m "MODE..."] [TRAP...]
Runs tests/traps/TRAP/run.sh, or those that tests/traps/modes.txt calls quick, in each mode: cpu wall
heap lock io all none. Only what the programs do is looked at (status, output, what is said on stderr), and
that files are valid.
  -a      all traps, and the event mode alone, too
  -j N    N at a time (default: the processors)
  -m ...  only these modes
tests/traps/modes.txt says which combinations are left out, and why. Prints TAP.
TEXT
}

: "${CP_LIBRARY:?is the built libcprof.so}"
: "${srcdir:?is the source directory}"
table=$srcdir/tests/traps/modes.txt
modes="cpu wall heap lock io all none" jobs=$(nproc 2>/dev/null || echo 1) all='' traps=''
while [ $# -gt 0 ]; do
	case $1 in
	-a) all=1 modes="$modes event" ;;
	-j) jobs=${2:?} && shift ;;
	-m) modes=${2:?} && shift ;;
	-h | --help) usage && exit 0 ;;
	-*) usage >&2 && exit 2 ;;
	*) traps="$traps $1" ;;
	esac
	shift
done
logs=$(mktemp -d)
# Where there are no perf events, the library says so, and the traps take that for harm.
if [ "$(env LD_PRELOAD="$CP_LIBRARY" EVENTPROFILE="$logs/probe.pb" true 2>&1)" ]; then
	export CP_NO_EVENTS=1
	modes=" $modes"
	modes=${modes/ event/}
fi
trap 'rm -rf "$logs"' EXIT
export logs

# The second word of a trap's lines in the table: modes that make no sense, or "quick".
words() { # trap
	awk -v trap="$1" '$1 == trap { print $2 }' "$table" | tr ',\n' '  '
}

# "TRAP MODE", a line each.
choose() {
	for trap in ${traps:-$(cd "$srcdir/tests/traps" && dirname */run.sh)}; do
		trap=${trap#trap_}
		about=" $(words "$trap") "
		[ "$all$traps" ] || [[ $about == *" quick "* ]] || continue
		for mode in $modes; do
			[[ $about == *" $mode "* || $about == *" every "* ]] || echo "$trap $mode"
		done
	done
}

run() { # trap mode
	began=$EPOCHREALTIME
	CP_MODES=$2 timeout -k 10 300 "$BASH" "$srcdir/tests/traps/$1/run.sh" >"$logs/$1.$2" 2>&1
	status=$?
	echo "$1 $2 $status $(((${EPOCHREALTIME/./} - ${began/./}) / 1000))"
}

choose >"$logs/chosen"
# Not exported: the programs would see the function in their environment.
xargs -r -P "$jobs" -L 1 "$BASH" -c "$(declare -f run); run \"\$@\"" run <"$logs/chosen" | {
	n=0 failed=0
	while read -r trap mode status ms; do
		n=$((n + 1))
		case $status in
		0) echo "ok $n - $trap in $mode ($ms ms)" ;;
		77) echo "ok $n - $trap in $mode # SKIP $(grep -m 1 '^SKIP' "$logs/$trap.$mode")" ;;
		*)
			failed=1
			echo "not ok $n - $trap in $mode (status $status)"
			grep -a '^FAIL' "$logs/$trap.$mode" | head -n 20 | sed 's/^/# /'
			[ "$status" = 1 ] || tail -n 5 "$logs/$trap.$mode" | sed 's/^/# /'
			;;
		esac
	done
	echo "1..$n"
	exit $failed
}
