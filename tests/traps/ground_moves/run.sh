# SPDX-License-Identifier: BSD-3-Clause
# Another directory, root or user between start and end: the path keeps its meaning from the start. If a file can't be
# written, one line says so, and nothing else happens.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
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
check_ended_valid chdir 0 bare

[ "$(id -u)" = 0 ] || { echo "# not root: no chroot, no setuid"; finish; }
ends_well profiled chroot ./tests/traps/hosts/moves chroot "$work/elsewhere"
check_same_output chroot bare
one_line chroot

# The directory belongs to root, and root is given up.
mkdir "$work/locked"
chmod 700 "$work"
bare setuid env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/locked/setuid.pb" ./tests/traps/hosts/moves setuid 65534
check_status setuid 0
check_same_output setuid bare
one_line setuid
finish
