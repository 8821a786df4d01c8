# SPDX-License-Identifier: BSD-3-Clause
# docs/traps.md names every trap test, and only tests that are there; so does the threat model's table.
set -eu
cd "${srcdir:-.}"
failed=0
for script in tests/traps/*/run.sh; do
	name=$(dirname "$script") name=trap_${name##*/}
	grep -qw "$name" docs/traps.md || { echo "docs/traps.md does not name $name" >&2; failed=1; }
done
for name in $(grep -ow 'trap_[a-z0-9_]*' docs/traps.md | sort -u); do
	[ -e "tests/traps/${name#trap_}/run.sh" ] || { echo "docs/traps.md names $name, which is not there" >&2; failed=1; }
done
# A name is a trap, a path, or a fuzzer or unit test by its last part.
for name in $(grep -owE 'trap_[a-z0-9_]*|tests/[a-z0-9/.-]*|(fuzz|test)-[a-z-]*' docs/threat-model.md | sort -u); do
	case $name in
	trap_*) file=tests/traps/${name#trap_}/run.sh ;;
	fuzz-*) file=tests/fuzz/$name.c ;;
	test-*) file=tests/unit/$name.c ;;
	*) file=$name ;;
	esac
	[ -e "$file" ] || { echo "docs/threat-model.md names $name, which is not there" >&2; failed=1; }
done
exit $failed
