#!/bin/bash
# docs/traps.md names every trap test, and only tests that are there.
set -eu
cd "${srcdir:-.}"
failed=0
for script in tests/traps/trap_*.sh; do
	name=$(basename "$script" .sh)
	grep -qw "$name" docs/traps.md || { echo "docs/traps.md does not name $name" >&2; failed=1; }
done
for name in $(grep -ow 'trap_[a-z0-9_]*' docs/traps.md | sort -u); do
	[ -e "tests/traps/$name.sh" ] || { echo "docs/traps.md names $name, which is not there" >&2; failed=1; }
done
exit $failed
