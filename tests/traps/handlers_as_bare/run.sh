# SPDX-License-Identifier: BSD-3-Clause
# Trap: a handler of the program sees another stack, mask, context or caller than without the profiler. One that
# needed more than the alternate stack, which it had not asked for, died; user threads that it switched got each
# other's turns; its backtrace named the profiler. And libc's own profiler (gcc -pg) got our samples as its ticks.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/handlers_as_bare/host
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
# musl has no swapcontext.
switches=switches
[ "${CP_LIBC:-glibc}" = glibc ] || switches=
for how in table itimer $switches guard; do
	bare "bare-$how" $host $how
	expected=$status
	for mode in CPU HEAP; do
		profiled_by ${mode}PROFILE "$how-$mode" $host $how
		check_status "$how-$mode" "$expected"
		check_same_output "$how-$mode" "bare-$how"
		diff "$work/bare-$how.out" "$work/$how-$mode.out" | head -n 4
		check_quiet "$how-$mode"
	done
done
# The program has handlers of its own for the signals that the profiler waits for.
for mode in CPU HEAP; do
	export ${mode}PROFILESIGNAL=HUP
	profiled_by ${mode}PROFILE "signal-$mode" $host table
	unset ${mode}PROFILESIGNAL
	check_ended "signal-$mode" 0 bare-table
done
if [ -z "${CP_MODES:-}" ]; then
	# Modes that take no samples by SIGPROF leave it alone, until one starts that does.
	bare bare-late $host late "$work/none.pb"
	for variable in HEAPPROFILE CPROF_LABELS; do
		profiled_by $variable late-$variable $host late "$work/started.pb"
		check_status late-$variable 155
		check_same_output late-$variable bare-late
		diff "$work/bare-late.out" "$work/late-$variable.out" | head -n 4
		check_stack "$work/started.pb" burn
	done
fi
# The sum of the ticks in gmon.out: its one histogram has its size at byte 37, and its counts from 61 on.
ticks() {
	local size
	size=$(od -An -tu4 -j37 -N4 "$work/gmon.out")
	od -An -v -tu2 -w2 -j61 -N$((2 * size)) "$work/gmon.out" | awk '{ n += $1 } END { print n + 0 }'
}
if (cd "$work" && $CC -pg -O1 -o gmon "$OLDPWD/$srcdir/tests/traps/handlers_as_bare/gmon.c" && ./gmon) >/dev/null 2>&1; then
	for mode in CPU HEAP; do
		profiled_by ${mode}PROFILE pg-$mode env --chdir="$work" "$work/gmon"
		check_ended pg-$mode 0
		had=$(ticks) due=$(cat "$work/pg-$mode.out")
		# ITIMER_PROF counts the kernel's ticks whole, and who shares a processor gets more or fewer of them than
		# CPU time. With the profiler's samples they would be eleven times as many; without its handler, none.
		[ "$had" -gt $((due / 4)) ] && [ "$had" -lt $((due * 4)) ] ||
			harm "pg-$mode: $had ticks in gmon.out, not $due"
	done
	check_stack "$work/pg-CPU.pb" hot
fi
finish
