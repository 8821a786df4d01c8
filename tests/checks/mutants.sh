#!/bin/bash
# Every mutant (tests/mutants/, see run.sh) still applies, has its tests, and is named in docs/traps.md
# in the row of its test; every row there says how its test was seen to fail.
set -eu
cd "${srcdir:-.}"
failed=0
complain() {
	echo "$*" >&2
	failed=1
}

# What the mutants' headers say. (Few processes: this is done in every "make check".)
declare -A tests_of without has_diff
while IFS=$'\t' read -r name key value; do
	case $key in
	Test) tests_of[$name]+=" $value" ;;
	Without) without[$name]=$value ;;
	diff) has_diff[$name]=1 ;;
	esac
done < <(awk '
	FNR == 1 { name = FILENAME; sub(/.*\//, "", name); sub(/\.patch$/, "", name); head = 1 }
	/^--- / { if (head) print name "\tdiff\t"; head = 0 }
	head && match($0, /^[A-Z][a-z]*: /) { print name "\t" substr($0, 1, RLENGTH - 2) "\t" substr($0, RLENGTH + 1) }
	' tests/mutants/*.patch)

# ---- the table: trap | test | shown by ----
# The third column names mutants in backticks, or has one of these words.
reasons='incumbent: |by hand|never'
named=' '
while IFS='|' read -r _ trap tests shown rest; do
	[[ $trap != ' trap ' && $trap != ---* ]] || continue
	[[ -n ${rest+x} && -z $rest && -n ${shown// /} ]] ||
		{ complain "docs/traps.md: not three columns:$trap" && continue; }
	left=$shown of_row=' '
	while [[ $left =~ \`([a-z0-9-]+)\`(.*) ]]; do
		name=${BASH_REMATCH[1]} left=${BASH_REMATCH[2]}
		[ -n "${tests_of[$name]:-}" ] || complain "docs/traps.md: there is no mutant $name"
		for test in ${tests_of[$name]:-}; do
			test=${test##*/} of_row+="${test%.sh} "
		done
		named+="$name "
	done
	# Each test of the row can fail; what never can is said.
	[[ ! $shown =~ ($reasons) ]] || continue
	left=$tests
	while [[ $left =~ (trap_[a-z0-9_]+|[a-z0-9/-]+\.sh|tests/unit/[a-z-]+)(.*) ]]; do
		test=${BASH_REMATCH[1]##*/} left=${BASH_REMATCH[2]}
		[[ $of_row == *" ${test%.sh} "* ]] || complain "docs/traps.md: no mutant for $test:$trap"
	done
	[ "$of_row" != ' ' ] || complain "docs/traps.md: nothing shows that the test can fail:$trap"
done < <(sed -n 's/\\|/!/g; /^|/p' docs/traps.md)

# ---- the mutants ----
command -v patch >/dev/null || { echo "SKIP: the program patch is not installed" && exit 77; }
for patch in tests/mutants/*.patch; do
	name=${patch##*/} name=${name%.patch}
	[[ $named == *" $name "* ]] || complain "docs/traps.md does not name $name"
	[ -n "${without[$name]:-}" ] || complain "$patch: no \"Without:\""
	[ -n "${tests_of[$name]:-}" ] || complain "$patch: no \"Test:\""
	for test in ${tests_of[$name]:-}; do
		[ -e "$test" ] || [ -e "$test.c" ] || complain "$patch: there is no $test"
	done
	[ -z "${has_diff[$name]:-}" ] || patch --dry-run -s -f -F1 -p1 <"$patch" >/dev/null ||
		complain "$patch does not apply any more; see tests/mutants/run.sh --help"
done
exit $failed
