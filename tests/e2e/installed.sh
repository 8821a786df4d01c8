#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installed anywhere, as a whole: the library finds its helper, and cprof the library.
. "$srcdir/tests/lib/e2e.sh"
[ -x "$builddir/cprof" ] || skip "the cprof tool is not built"
read -r libdir bindir < <(MAKEFLAGS= make -s -f Makefile --eval='cp-where:;@echo $(libdir) $(bindir)' cp-where)
[ -n "${bindir:-}" ] || skip "make doesn't tell where things go"
place="$work/a place" # a space is no hindrance for the helper
mkdir -p "$place$libdir" "$place$bindir" "$work/moved"
cp "$CP_LIBRARY" "$place$libdir/libcprof.so"
cp "$builddir/cprof" "$place$bindir/cprof"
$CC -O2 -g -o "$work/burner" "$srcdir/tests/e2e/symbolize-host.c" || fail "the host doesn't compile"

has_lines() { # name
	"$pprof_check" --raw "$work/$1.pb" | grep -q 'mix;twice;burn;main' || fail "$1: no lines: $(cat "$work/$1.err")"
}

# LD_PRELOAD takes no path with a space.
ln -s "$place" "$work/link"
CP_LIBRARY=$work/link$libdir/libcprof.so
export CPROF_SYMBOLIZE=full
profiled helper "$work/burner"
check_valid "$work/helper.pb"
has_lines helper
CP_LIBRARY=./link$libdir/libcprof.so
cd "$work"
profiled relative "$work/burner"
has_lines relative

"$place$bindir/cprof" run -o "$work/run.pb" "$work/burner" >/dev/null 2>"$work/run.err"
[ $? = 2 ] && grep -q 'a space or colon' "$work/run.err" || fail "a path with a space: $(cat "$work/run.err")"
mv "$place" "$work/moved/whole"
"$work/moved/whole$bindir/cprof" run -o "$work/run.pb" "$work/burner" >/dev/null 2>"$work/run.err" ||
	fail "run: status $?: $(cat "$work/run.err")"
check_valid "$work/run.pb"
has_lines run

# A cprof that isn't beside a library says so.
cp "$work/moved/whole$bindir/cprof" "$work/alone"
"$work/alone" run -o "$work/alone.pb" "$work/burner" >/dev/null 2>"$work/alone.err"
[ $? = 2 ] && grep -q 'libcprof.so is not installed' "$work/alone.err" || fail "alone: $(cat "$work/alone.err")"
finish
