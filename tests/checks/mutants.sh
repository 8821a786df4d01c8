# SPDX-License-Identifier: BSD-3-Clause
# Every mutant (tests/mutants/*.txt) fits the sources, has its tests, and is named in docs/traps.md in the
# row of its test; every row there says how its test was seen to fail.
set -eu
cd "${srcdir:-.}"
failed=0
complain() {
	echo "$*" >&2
	failed=1
}

command -v python3 >/dev/null || { echo "SKIP: python3 is not installed" && exit 77; }
python3 tests/mutants/mutate.py . check || failed=1
found=$(python3 tests/mutants/mutate.py . fields)
declare -A tests_of
while IFS=$'\t' read -r name key value; do
	[ "$key" != Test ] || tests_of[$name]+=" $value"
done <<<"$found"

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
			[[ $test != */run.sh ]] || test=${test%/run.sh} test=trap_${test##*/}
			test=${test##*/} of_row+="${test%.sh} "
		done
		named+="$name "
	done
	# Each test of the row can fail; a test that never can is reported.
	[[ ! $shown =~ ($reasons) ]] || continue
	left=$tests
	while [[ $left =~ (trap_[a-z0-9_]+|[a-z0-9/-]+\.sh|tests/unit/[a-z-]+)(.*) ]]; do
		test=${BASH_REMATCH[1]} left=${BASH_REMATCH[2]}
		[[ $test != */run.sh ]] || test=${test%/run.sh} test=trap_${test##*/}
		test=${test##*/}
		[[ $of_row == *" ${test%.sh} "* ]] || complain "docs/traps.md: no mutant for $test:$trap"
	done
	[ "$of_row" != ' ' ] || complain "docs/traps.md: nothing shows that the test can fail:$trap"
done < <(sed -n 's/\\|/!/g; /^|/p' docs/traps.md)

for name in "${!tests_of[@]}"; do
	[[ $named == *" $name "* ]] || complain "docs/traps.md does not name $name"
done
exit $failed
