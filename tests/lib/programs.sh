# SPDX-License-Identifier: BSD-3-Clause
# For the end-to-end tests on real programs: the conditions for every run and every profile.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=500

# The same command with and without the profiler: same output, same status.
both() { # name command...
	both_name=$1
	shift
	bare "$both_name-bare" "$@"
	bare_status=$status
	profiled "$both_name" "$@"
	check_status "$both_name" "$bare_status"
	check_same_output "$both_name" "$both_name-bare"
	grep -v '^libcprof:' "$work/$both_name.err" | cmp -s - "$work/$both_name-bare.err" ||
		fail "$both_name: stderr differs: $(diff "$work/$both_name.err" \
			"$work/$both_name-bare.err" | head -n 5)"
	check_quiet "$both_name"
}

pprof() { # output-name option... file
	pprof_out=$1
	shift
	go tool pprof "$@" >"$work/pprof.$pprof_out" 2>"$work/pprof.err" ||
		fail "pprof $*: $(tail -n 3 "$work/pprof.err")"
}

# Every sample has a stack, and nearly all of them reach the thread's start.
check_stacks() { # file
	"$pprof_check" --raw "$1" 2>/dev/null | awk -F'\t' -v file="$1" '
		{ split($1, v, ","); all += v[1] }
		$3 == "" { print "FAIL: " file ": a sample without a stack"; bad = 1 }
		$3 ~ /\[incomplete\]$/ { lost += v[1] }
		END {
			if (lost * 20 > all) {
				print "FAIL: " file ": " lost " of " all " stacks are incomplete"
				bad = 1
			}
			exit bad
		}' || failures=$((failures + 1))
}

# The command line's reader takes it in every way, and finds all names in the file.
check_pprof() { # file
	command -v go >/dev/null || { echo "go is not installed: pprof is not asked"; return; }
	pprof default -top "$1"
	pprof none -symbolize=none -top "$1"
	cmp -s "$work/pprof.none" "$work/pprof.default" ||
		fail "$1: pprof sees other names with the binaries at hand"
	pprof traces -traces "$1"
	pprof raw -raw "$1"
	pprof tags -tags "$1"
	grep -q 'thread:' "$work/pprof.tags" || fail "$1: no thread among the tags"
	pprof comments -comments "$1"
	grep -q '^# libcprof ' "$work/pprof.comments" || fail "$1: no version among the comments"
	pprof diff -top -diff_base="$1" "$1"
	grep -q '^Showing nodes accounting for 0, 0% of' "$work/pprof.diff" ||
		fail "$1: differs from itself: $(grep '^Showing' "$work/pprof.diff")"
}

check_profile() { # file
	check_valid "$1"
	check_stacks "$1"
	check_pprof "$1"
}

# 55 MB of text that compresses well.
make_data() { # file
	seq 1 7500000 | head -c 55000000 >"$1"
}

# Leaf functions of this module hold at least PERCENT of the profile's time.
check_module() { # file percent regex-of-leaf-names
	share=$("$pprof_check" --top 0 "$1" 2>/dev/null | r=$3 awk '
		{ name = $5; for (i = 6; i <= NF; i++) name = name " " $i }
		name ~ ENVIRON["r"] { sum += $2 } END { print int(sum) }')
	[ "${share:-0}" -ge "$2" ] || fail "$1: $3 has ${share:-0} %, not $2: $(
		"$pprof_check" --top 5 "$1" 2>&1)"
}
