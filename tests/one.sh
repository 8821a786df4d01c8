# SPDX-License-Identifier: BSD-3-Clause
# make one T=NAME: runs one test, and builds only what it needs. NAME is a trap (trap_blocked_signals), a script of
# tests/e2e or tests/checks (wall), or a unit test (test-ring). The other arguments are the programs that scripts run.
set -u
name=${1%.sh}
shift
[ -n "$name" ] || { echo "usage: make one T=NAME   (trap_blocked_signals, wall, test-ring ...)" >&2; exit 2; }
name=${name##*/}

for script in "tests/traps/${name#trap_}/run.sh" "tests/e2e/$name.sh" "tests/checks/$name.sh"; do
	[ -e "$srcdir/$script" ] || continue
	"$MAKE" -s $(bash "$srcdir/tests/needed.sh" "$script" -- "$@") || exit 1
	bash "$srcdir/$script"
	status=$?
	[ $status = 0 ] && echo "PASS: $script"
	[ $status = 77 ] || [ $status = 0 ] || echo "FAIL: $script (status $status)"
	exit $status
done
if [ -e "$srcdir/tests/unit/$name.c" ]; then
	"$MAKE" -s "tests/unit/$name" && exec "tests/unit/$name"
	exit 1
fi
echo "make one: there is no test $name in tests/traps, tests/e2e, tests/checks or tests/unit" >&2
ls "$srcdir/tests/traps" "$srcdir/tests/e2e" | grep -i -- "${name#trap_}" | head -n 5 >&2
exit 2
