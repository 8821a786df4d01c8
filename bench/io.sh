#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of the I/O mode: a read of one byte from a pipe, with the mode off and on, over libc's own. IO_ROUNDS: runs.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
$CC -O2 -D_GNU_SOURCE -o "$work/io" "$srcdir/bench/io.c" -ldl || exit 1

for mode in off on; do
	settings=()
	[ $mode = off ] || settings=(IOPROFILE="$work/io.pb")
	for _ in $(seq "${IO_ROUNDS:-7}"); do
		env LD_PRELOAD="$CP_LIBRARY" "${settings[@]}" "$work/io"
	done >"$work/$mode"
	column=1
	for by in forward counter libcprof libc; do
		awk -v c=$column '{ print $c }' "$work/$mode" | say_record io-read ns mode=$mode by=$by
		column=$((column + 1))
	done
done
finish
