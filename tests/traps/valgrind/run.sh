# SPDX-License-Identifier: BSD-3-Clause
# Under valgrind, whose threads and signals are of its own making and which takes our reads for errors: the library
# stays out, and says so; the program, and what valgrind finds in it, are as without us.
. "$srcdir/tests/lib/e2e.sh"
said='libcprof: no profile: valgrind runs the program'

check_said() { # name
	[ "$(grep -c '^libcprof: ' "$work/$1.err")" = 1 ] || fail "$1: not one line: $(cat "$work/$1.err")"
	grep -qF "$said" "$work/$1.err" || fail "$1: the reason is not said: $(cat "$work/$1.err")"
	[ -z "$(ls "$work/$1".pb* 2>/dev/null)" ] || fail "$1: there is a profile"
}

# What valgrind preloads into every program has this function.
echo 'void _vgnU_freeres(void) {}' >"$work/core.c"
${CC:-cc} -shared -fPIC -o "$work/core.so" "$work/core.c" || skip "no compiler"
bare plain ./tests/traps/hosts/small-stacks threads
CP_LIBRARY="$work/core.so:$CP_LIBRARY" ends_well profiled pretended ./tests/traps/hosts/small-stacks threads
check_same_output pretended plain
check_said pretended

if ! command -v valgrind >/dev/null; then
	echo "valgrind is not installed: only pretended"
	finish
fi
# valgrind's launcher is a program, too, which runs natively and may have a sample by chance: CPROF_ONLY leaves it out.
for modes in CPUPROFILE WALLPROFILE HEAPPROFILE LOCKPROFILE CPROF_NOTHING; do
	bare "$modes" valgrind -q --error-exitcode=9 --trace-children=yes env LD_PRELOAD="$CP_LIBRARY" CPROF_ONLY=small-stacks $modes="$work/$modes.pb" \
		./tests/traps/hosts/small-stacks threads
	check_status "$modes" 0
	check_same_output "$modes" plain
	[ "$modes" = CPROF_NOTHING ] || check_said "$modes"
done
check_quiet CPROF_NOTHING
finish
