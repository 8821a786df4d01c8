# SPDX-License-Identifier: BSD-3-Clause
# The program blocks all signals in its worker threads: they are sampled all the same, and it reads
# back the mask that it set.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/blocked_signals/host
ends_well bare bare "$host"
CPUPROFILE_FREQUENCY=1000 same_as_bare cpu masks "$host"
check_valid "$work/masks.pb"
check_stack "$work/masks.pb" 'burn.*;blocked_worker'
[[ $CC == musl-gcc* ]] || check_stack "$work/masks.pb" 'burn.*;report_mask' # by pthread_attr_setsigmask_np

# In the other modes no signal of the profiler arrives, and the program sees its own masks all the same.
for mode in HEAP LOCK WALL; do
	bare "$mode" env LD_PRELOAD="$CP_LIBRARY" "${mode}PROFILE=$work/$mode.pb" "$host"
	check_ended "$mode" 0 bare
done

# Threads whose waits take no signal of the profiler; they are sampled nevertheless.
for engine in timer perf; do
	CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=4000 runs_well profiled "polls-$engine" "$host" polls
	check_stack "$work/polls-$engine.pb" polls
done

# The next program inherits the program's mask, not the profiler's.
for how in execv fork vfork restored spawn; do
	same_as_bare cpu "$how" "$host" exec "$how" "$host"
	check_valid "$work/$how.pb"*
done
# And a program that was started with it blocked is profiled.
if env --block-signal=PROF true 2>/dev/null; then
	bare bare-env env --block-signal=PROF "$host" inherited
	bare env env --block-signal=PROF env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/env.pb" \
		CPUPROFILE_FREQUENCY=1000 "$host" inherited
	check_status env 0
	check_same_output env bare-env
	check_stack "$work/env.pb" 'burn.*;inherited'
fi
finish
