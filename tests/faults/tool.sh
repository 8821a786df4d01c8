# SPDX-License-Identifier: BSD-3-Clause
# The tool's own calls fail, each in turn: cprof says one line, its status is 2, and what was there before is there
# still, whole; or it succeeds. `tool.sh short` takes a few.
set -u
: "${srcdir:?is the source directory}"
inject=$PWD/tests/faults/inject
cprof=$PWD/cprof
pprof_check=$PWD/tests/tools/pprof-check
[ -x "$cprof" ] || { echo "SKIP: the cprof tool is not built"; exit 77; }
last=${1:+2}
last=${last:-100000}
jobs=${FAULT_JOBS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/in.pb" CPUPROFILE_FREQUENCY=1000 CPROF_SYMBOLIZE=names "$PWD/tests/faults/host" short >/dev/null
[ -s "$work/in.pb" ] || { echo "no profile to work on"; exit 1; }
unset DEBUGINFOD_URLS
points=0 failed=0

whole() { # file
	case $1 in
	*.pb) "$pprof_check" --raw "$1" >/dev/null 2>&1 ;;
	*.html) tail -c 20 "$1" | grep -q '</html>' ;;
	*) tail -c 1 "$1" | od -An -c | grep -q '\\n' ;;
	esac
}

point() { # name output call how n command...
	local name=$1 output=$2 call=$3 how=$4 n=$5 at status=0 why=
	shift 5
	at=$(mktemp -d "$work/point.XXXXXX")
	cp "$work/in.pb" "$at/in.pb"
	cp "$work/before.$name" "$at/$output"
	(cd "$at" && "$inject" --all --report "$at.report" --limit 60 --call "$call" --how "$how" --at "$n" -- "$cprof" "$@" >"$at.out" 2>"$at.err") || status=$?
	if ! grep -q '^seen' "$at.report" 2>/dev/null; then
		echo "$n FAIL the injector did not come to an end: status $status" >>"$work/results"
	elif ! grep -q '^failed' "$at.report"; then
		echo "$n end" >>"$work/results"
	else
		case $status in
		0) whole "$at/$output" || why="status 0, and $output is not whole" ;;
		2)
			[ "$(wc -l <"$at.err")" = 1 ] && grep -q '^cprof' "$at.err" || why="said: $(head -n 3 "$at.err")"
			cmp -s "$work/before.$name" "$at/$output" || why="$why; status 2, and $output has changed"
			;;
		# Where the loader or libc can't begin.
		127) grep -q 'error while loading\|cannot' "$at.err" || why="status $status: $(head -n 2 "$at.err")" ;;
		*) why="status $status: $(head -n 2 "$at.err")" ;;
		esac
		[ "$(ls -A "$at" | grep -vx -e in.pb -e "$output")" ] && [ "$call" != unlinkat ] && why="$why; left $(ls -A "$at")"
		echo "$n ${why:+FAIL }${why:-ok}" >>"$work/results"
	fi
	rm -rf "$at" "$at".*
}

walk() { # name output call how command...
	local name=$1 output=$2 call=$3 how=$4 n=1 i good bad
	shift 4
	: >"$work/results"
	while [ "$n" -le "$last" ] && ! grep -q ' end$' "$work/results"; do
		for ((i = 0; i < jobs && n <= last; i++, n++)); do
			point "$name" "$output" "$call" "$how" "$n" "$@" &
		done
		wait
	done
	good=$(grep -c ' ok$' "$work/results")
	bad=$(grep -c ' FAIL ' "$work/results")
	points=$((points + good + bad)) failed=$((failed + bad))
	printf 'cprof %-10s %-10s %-10s %4d points, %d failed\n' "$name" "$call" "$how" $((good + bad)) "$bad"
	grep ' FAIL ' "$work/results" | sort -n | head -n 8
}

verb() { # name output command...
	local name=$1 output=$2 kind
	shift 2
	(cd "$work" && cp in.pb "before.$name" && { [ "$output" = in.pb ] || cp in.pb "$output"; } && "$cprof" "$@" >/dev/null) || { echo "$name fails by itself"; failed=$((failed + 1)); return; }
	[ "$output" = in.pb ] && cp "$work/before.$name" "$work/in.pb" || mv "$work/$output" "$work/before.$name"
	for kind in write:ENOSPC write:EIO write:EINTR write:short fsync:EIO renameat:EACCES fchmod:EPERM openat:EMFILE; do
		walk "$name" "$output" "${kind%%:*}" "${kind#*:}" "$@"
	done
}

verb symbolize out.pb symbolize -o out.pb in.pb
verb in-place in.pb symbolize --in-place in.pb
verb flame out.html flame -o out.html in.pb
verb folded out.txt folded -o out.txt in.pb
verb merge out.pb merge -o out.pb in.pb in.pb
# Tables go to standard output.
for verb in top tree "diff $work/in.pb"; do
	status=0
	"$cprof" $verb "$work/in.pb" >/dev/full 2>"$work/err" || status=$?
	points=$((points + 1))
	[ $status = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] || { echo "cprof $verb >/dev/full: status $status, said: $(cat "$work/err")"; failed=$((failed + 1)); }
done
echo "$points points of the tool, $failed failed"
[ "$failed" = 0 ]
