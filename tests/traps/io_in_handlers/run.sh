# SPDX-License-Identifier: BSD-3-Clause
# Trap: a handler writes while the interrupted code is in the profiler's function for another call, or leaves it by a
# jump. Calls are counted, every one; records stay whole.
. "$srcdir/tests/lib/io.sh"
limit=$bounded
export CPROF_CHECKPOINT=0
# A stack is taken for most calls.
for wakers in 0 1; do
	CPROF_IO_WAKERS=$wakers same_as_bare io on$wakers ./tests/traps/io_in_handlers/host
	check_valid_as io "$work/on$wakers.pb"
	# The writes until the first jump are all counted.
	writes=$(sed -n 's/^writes //p' "$work/on$wakers.err")
	counted=$("$pprof_check" --comments "$work/on$wakers.pb" 2>/dev/null | sed -nE 's/.*io: write (pipe|device): ([0-9]+) calls.*/\2/p' | awk '{ n += $1 } END { print n + 0 }')
	[ "$counted" -ge "$writes" ] || fail "$counted writes are counted, not at least $writes"
done
finish
