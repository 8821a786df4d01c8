# SPDX-License-Identifier: BSD-3-Clause
# Another directory, root or user between start and end: the path keeps its meaning from the start. If a file can't be
# written, one line says so, and nothing else happens.
. "$srcdir/tests/lib/e2e.sh"
need timeout
limit=$bounded
CPUPROFILE_FREQUENCY=1000
export CPUPROFILE_FREQUENCY
bare bare ./tests/traps/hosts/moves

one_line() { # name
	[ "$(grep -c '^libcprof:' "$work/$1.err")" = 1 ] ||
		fail "$1: said on stderr: $(cat "$work/$1.err")"
	grep -q 'could not be written' "$work/$1.err" || fail "$1: $(cat "$work/$1.err")"
}

mkdir "$work/elsewhere"
(
	moves=$PWD/tests/traps/hosts/moves
	cd "$work" && env LD_PRELOAD=$CP_LIBRARY CPUPROFILE=chdir.pb "$moves" chdir elsewhere
) >"$work/chdir.out" 2>"$work/chdir.err"
status=$?
check_status chdir 0
check_same_output chdir bare
check_quiet chdir
check_valid "$work/chdir.pb"

[ "$(id -u)" = 0 ] || { echo "# not root: no chroot, no setuid"; finish; }
profiled chroot ./tests/traps/hosts/moves chroot "$work/elsewhere"
check_status chroot 0
check_same_output chroot bare
one_line chroot

# The directory belongs to root, and root is given up.
mkdir "$work/locked"
chmod 700 "$work"
status=0
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/locked/setuid.pb" ./tests/traps/hosts/moves setuid 65534 \
	>"$work/setuid.out" 2>"$work/setuid.err" || status=$?
check_status setuid 0
check_same_output setuid bare
one_line setuid
finish
