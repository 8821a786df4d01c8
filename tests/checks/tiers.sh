# SPDX-License-Identifier: BSD-3-Clause
# Each test runs in one tier: each line of tests/tiers.txt names a test that exists, once, and says when it runs. Each
# check is in a list of tests, or it would never run. "make help" names every target that people call.
set -eu
cd "${srcdir:-.}"
failed=0
wrong() {
	echo "$*" >&2
	failed=1
}

listed() { # the tests in the lists of local.mk
	sed -nE "s,^[[:space:]]+%D%(/[a-z0-9_/.-]+\.sh)( .*)?$,tests/checks\1,p" tests/checks/local.mk
}
all=$(listed)

while read -r test when why; do
	[[ -n $test && $test != '#' ]] || continue
	[ -e "$test" ] || [ -e "$test.c" ] || wrong "tests/tiers.txt names $test, which is not there"
	case $when in
	later | alone) [ -n "$why" ] || wrong "tests/tiers.txt doesn't say why $test runs $when" ;;
	quick | tool) ;;
	*) wrong "tests/tiers.txt: $test runs $when" ;;
	esac
done <tests/tiers.txt
twice=$(awk '/^tests\// { print $1 }' tests/tiers.txt | sort | uniq -d)
[ -z "$twice" ] || wrong "tests/tiers.txt names twice: $twice"
for script in tests/checks/*.sh; do
	[ "$script" = tests/checks/undefined.sh ] || grep -qxF "$script" <<<"$all" || wrong "$script is in no list of tests"
done
for target in $(sed -n '/^\.PHONY:/,/[^\\]$/p' Makefile.am | tr -d '\\' | sed 's/^\.PHONY://'); do
	case $target in help | mutants-build | tests-environment | run-tests) continue ;; esac
	grep -qE "^  make $target( |\$)" tests/help.txt || wrong "make help doesn't tell of make $target"
done
exit $failed
