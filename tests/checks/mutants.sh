#!/bin/bash
# Every mutant (tests/mutants/, see run.sh) still applies, has its tests, and is named in docs/traps.md
# in the row of its test; every row there says how its test was seen to fail.
set -eu
cd "${srcdir:-.}"
. tests/mutants/header.sh
failed=0
complain() {
	echo "$*" >&2
	failed=1
}

# ---- the table: trap | test | seen to fail ----
# The third column names mutants in backticks, or begins with one of these words.
reasons='incumbent: |by hand|never: '
rows=$(sed -n 's/\\|/!/g; /^| trap /d; /^|/p' docs/traps.md)
while IFS='|' read -r _ trap tests shown rest; do
	[ -n "${rest+x}" ] && [ -z "$rest" ] && [ -n "${shown// /}" ] ||
		{ complain "docs/traps.md: not three columns:$trap" && continue; }
	names=$(grep -o '`[a-z0-9-]*`' <<<"$shown" | tr -d '`') || true
	[ -n "$names" ] || [[ $shown =~ ^\ *($reasons) ]] ||
		complain "docs/traps.md: nothing shows that the test can fail:$trap"
	for name in $names; do
		patch=tests/mutants/$name.patch
		[ -e "$patch" ] || { complain "docs/traps.md: there is no $patch" && continue; }
		while read -r test; do
			base=${test##*/}
			[[ $tests == *"${base%.sh}"* ]] || complain "docs/traps.md: $name is for $test:$trap"
		done < <(mutant_header "$patch" Test)
	done
done <<<"$(sed '/^ *|[-| ]*$/d' <<<"$rows")"

# ---- the mutants ----
command -v patch >/dev/null || { echo "SKIP: the program patch is not installed" && exit 77; }
for patch in tests/mutants/*.patch; do
	name=$(basename "$patch" .patch)
	grep -qF "\`$name\`" docs/traps.md || complain "docs/traps.md does not name $name"
	[ -n "$(mutant_header "$patch" Without)" ] || complain "$patch: no \"Without:\""
	tests=$(mutant_header "$patch" Test)
	[ -n "$tests" ] || complain "$patch: no \"Test:\""
	for test in $tests; do
		[ -e "$test" ] || [ -e "$test.c" ] || complain "$patch: there is no $test"
	done
	mutant_has_diff "$patch" || continue
	patch --dry-run -s -f -F1 -p1 <"$patch" >/dev/null ||
		complain "$patch does not apply any more; see tests/mutants/run.sh --help"
done
exit $failed
