# SPDX-License-Identifier: BSD-3-Clause
# Trap: a relative name of a profile is a template, but its directory is not: a % in the directory's name, even before
# a template's letter, is a %. The name that is given to a dump is used as it is.
. "$srcdir/tests/lib/e2e.sh"

for where in d%percent 100%p %; do
	mkdir "$work/$where"
	ends_well bare names timeout -s KILL 60 ./tests/traps/hosts/start-stop names "$work/$where"
	[ ! -s "$work/names.out" ] || fail "in $where: $(cat "$work/names.out")"
	check_quiet names
	check_valid "$work/$where/cprof.pb" "$work/$where/100%dump.pb" "$work/$where/gperftools.pb"
	check_valid_as heap "$work/$where/memory.0001.heap"
done

# A directory that was deleted has no path: nothing is written to another one.
mkdir "$work/deleted"
(
	cd "$work/deleted" && rmdir "$work/deleted" || exit
	env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE=x.pb "$builddir/tests/traps/hosts/moves" >"$work/deleted.out" 2>"$work/deleted.err"
)
[ "$(cat "$work/deleted.err")" = "libcprof: CPUPROFILE: no profile: x.pb: ESTALE: the directory is gone; give an absolute path" ] ||
	fail "in a deleted directory: $(cat "$work/deleted.err")"
[ ! -e /x.pb ] || fail "in a deleted directory: the profile is in /"

# Under proot, which makes the program's calls by ptrace, and knows few of them: the profile is there, and its names are.
if command -v proot >/dev/null && proot true 2>/dev/null; then
	bare below-proot proot env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE_FREQUENCY=1000 CPUPROFILE="$work/below-proot.pb" \
		./tests/traps/hosts/moves
	check_quiet below-proot
	check_valid "$work/below-proot.pb"
	check_stack "$work/below-proot.pb" ';main;'
fi
finish
