# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts behind make musl-check and static-check, which run the tests with other programs: runs the
# scripts of TESTS ("eintr_wall" or "trap_eintr_wall": a trap; "api": tests/e2e/api.sh). They set:
#   what       the word that a line begins with
#   tests      by take_arguments, or, if nobody named any ($named is 0), all
#   left_out   a file of the tests to leave out then, with the reasons
#   make_programs PROGRAM...   makes what a script needs in the current folder
# Prints a line for each that fails or doesn't apply, and the numbers; the output is in trap_NAME.log or NAME.log.

take_arguments() { # TEST... -- PROGRAM...: sets tests, named and programs
	tests=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		tests+=("${1#trap_}")
		shift
	done
	shift
	programs=("$@")
	named=${#tests[@]}
}

script_of() { # test
	if [ -e "$srcdir/tests/traps/${1#trap_}/run.sh" ]; then
		echo "tests/traps/${1#trap_}/run.sh"
	else
		echo "tests/e2e/$1.sh"
	fi
}

run_elsewhere() {
	: "${srcdir:?is the source directory}" "${what:?}" "${left_out:?}"
	local test script log needed passed=0 failed=0 others=0
	for test in "${tests[@]}"; do
		if [ "$named" = 0 ] && grep -q "^$test[[:blank:]]" "$left_out"; then
			others=$((others + 1))
			continue
		fi
		script=$(script_of "$test")
		log=$test.log
		needed=$(bash "$srcdir/tests/needed.sh" "$script" -- "${programs[@]}" | grep -vE '^tests/(tools/|faults/inject$)')
		# What a script doesn't need after all may not compile.
		# shellcheck disable=SC2086
		[ -z "$needed" ] || make_programs $needed >"$log.make" 2>&1
		timeout -k 10 300 bash "$srcdir/$script" >"$log" 2>&1 </dev/null
		case $? in
		0) passed=$((passed + 1)) ;;
		77) others=$((others + 1)) && echo "$what: $test: not applicable: $(sed -n 's/.*SKIP[: ]*//p' "$log" | head -n 1)" ;;
		*) failed=$((failed + 1)) && echo "$what: $test: FAILED ($PWD/$log)" && grep -E 'FAIL|error:' "$log" | head -n 3 | cut -c 1-200 ;;
		esac
	done
	echo "$what: $passed passed, $failed failed, $others not applicable"
	[ $failed = 0 ]
}
