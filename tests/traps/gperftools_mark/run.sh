# SPDX-License-Identifier: BSD-3-Clause
# Trap: a program is linked with gperftools' libprofiler, which tells the program's children that they
# are children: it sets the highest bit of the first byte of CPUPROFILE in the environment. Children
# that are not linked with it find a path there that nobody gave: they have files all the same.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded

# A child that a program execs, whose own or whose library's constructor has set the bit.
marked() { # name host files
	mkdir -p "$work/$1/run"
	cd "$work/$1" || exit 1
	bare "$1" env -C "$work/$1/run" LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$path" CPUPROFILE_FREQUENCY=1000 "$2"
	cd "$builddir" || exit 1
	check_status "$1" 0
	grep -q '^libcprof:' "$work/$1.err" && fail "$1: $(cat -v "$work/$1.err")"
	check_valid "$work/$1"/run/out.pb.[0-9]*
	# One by execve, one by system, one by posix_spawn, one by a fork without exec. A tick may come in the shell, too.
	busy=$(for file in "$work/$1"/run/out.pb.[0-9]*; do "$pprof_check" --raw "$file" | grep -m 1 burn; done | wc -l)
	[ "$busy" = "$3" ] || fail "$1: $busy files, not $3: $(ls -b "$work/$1" "$work/$1/run")"
}

host=$builddir/tests/traps/gperftools_mark/host
path=$work/absolute/run/out.pb
marked absolute "$host" 4
check_valid "$work/absolute/run/out.pb"
path=out.pb
marked relative "$host" 4
check_valid "$work/relative/run/out.pb"

# A name of the user's own that begins with a byte above 127.
mkdir "$work/own"
ends_well bare own env -C "$work/own" LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="éa.pb" true
[ -e "$work/own/éa.pb" ] || fail "a name in UTF-8: $(ls -b "$work/own")"

# The real one; its own profile of the program is written at the same path, so libcprof's is beside it.
library=$(ldconfig -p 2>/dev/null | sed -n 's/.*libprofiler\.so\.0 .*=> //p' | head -n 1)
if [ -n "$library" ]; then
	$CC -I"$srcdir/tests/traps" -I"$srcdir/tests/lib" -o "$work/linked" "$srcdir/tests/traps/gperftools_mark/host.c" \
		-Wl,--no-as-needed "$library" || fail "can't link with $library"
	for path in "$work/real/run/out.pb" out.pb; do
		rm -rf "$work/real"
		marked real "$work/linked" 5
	done
fi
finish
