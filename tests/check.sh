# SPDX-License-Identifier: BSD-3-Clause
# usage: TIER= MODE= MAKE= check.sh KIND TEST... -- PROGRAM...
# What "make check" and its like do, in the build directory: chooses from the TESTs by tests/tiers.txt, builds those of
# the PROGRAMs that they need, and runs them: first those that run side by side (as many as make's -j says), then, one
# at a time, those that need the processors for themselves.
#   TIER   check, later (what check leaves out), or all
#   KIND   all, quick, unit, e2e, traps, tool
#   MODE   empty, or cpu, wall, heap, lock, io, event: only the tests of that mode
# Status 1 if a test fails.
set -u
kind=$1
shift
: "${srcdir:?is the source directory}" "${MAKE:?}" "${TIER:?}"
tests=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	tests+=("$1")
	shift
done
shift

# A test's line in the table.
declare -A words
while read -r name when _; do
	[[ -z $name || $name == '#' ]] || words[$name]=,$when,
done <"$srcdir/tests/tiers.txt"

is() { # test word
	[[ ${words[$1]:-} == *,$2,* ]]
}

in_tier() { # test
	case $TIER in
	all) ;;
	later) is "$1" later ;;
	check) ! is "$1" later ;;
	esac
}

in_kind() { # test
	case $kind in
	all) ;;
	quick) [[ $1 == tests/unit/* || $1 == tests/checks/* ]] || is "$1" quick ;;
	unit | traps | e2e) [[ $1 == tests/$kind/* ]] ;;
	tool) [[ $1 == tests/unit/test-tool-* ]] || is "$1" tool ;;
	esac
}

# A mode is in the name of a unit test, and of many scripts; others ask for its profile.
in_mode() { # test
	[[ -z $MODE || ${1##*/} == *$MODE* || $1 == */traps/${MODE}_* ]] && return
	[[ $1 == *.sh && $1 != tests/checks/* ]] || return 1
	grep -qE "(^|[^A-Z])${MODE^^}PROFILE=|(^|[^a-z])${MODE}_profiled |same_as_bare $MODE " "$srcdir/$1" ||
		{ [ "$MODE" = cpu ] && grep -qE '(^|[[:blank:];])profiled ' "$srcdir/$1"; }
}

beside=() alone=()
for test in "${tests[@]}"; do
	in_tier "$test" && in_kind "$test" && in_mode "$test" || continue
	if is "$test" alone || is "$test" later; then
		alone+=("$test")
	else
		beside+=("$test")
	fi
done
echo "$((${#beside[@]} + ${#alone[@]})) of ${#tests[@]} tests (${#alone[@]} of them one at a time)"
[ $((${#beside[@]} + ${#alone[@]})) != 0 ] || exit 1
needed=$(bash "$srcdir/tests/needed.sh" "${beside[@]}" "${alone[@]}" -- "$@") || exit
[ -z "$needed" ] || "$MAKE" $needed || exit

status=0
run() { # test...
	[ $# = 0 ] || "$MAKE" run-tests TESTS="$*" || status=1
}
run "${beside[@]}"
# Not "make -j1", which warns.
MAKEFLAGS=$(sed 's/ *-j[0-9]*//g; s/ *--jobserver-[a-z]*=[^ ]*//g' <<<"${MAKEFLAGS:-}")
export MAKEFLAGS
run "${alone[@]}"
for test in "${beside[@]}" "${alone[@]}"; do
	grep -qsE '^:test-result: (FAIL|ERROR)' "${test%.sh}.trs" && echo "failed: $test (${test%.sh}.log)"
done
exit $status
