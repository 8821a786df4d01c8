# SPDX-License-Identifier: BSD-3-Clause
# The rules for a program with timers also hold with perf events.
. "$srcdir/tests/lib/e2e.sh"
export CPROF_CPU_ENGINE=perf CPUPROFILE_FREQUENCY=1000

profiled plain ./tests/traps/hosts/perf-host
"$pprof_check" --comments "$work/plain.pb" | grep -q 'engine perf' ||
	skip "no perf events with kernel time here: $(cat "$work/plain.err")"
for trap in trap_descriptors_closed trap_exec_without_fork trap_own_sigprof_handler trap_signal_after_exec \
	trap_start_and_stop trap_exit_paths trap_last_thread_exits trap_seccomp; do
	env -u CPUPROFILE_FREQUENCY bash "$srcdir/tests/traps/${trap#trap_}/run.sh" >"$work/$trap.log" 2>&1 ||
		fail "$trap: $(grep -m 3 '^FAIL' "$work/$trap.log")"
done
for how in once grandchild thread; do
	bare "fork-$how-bare" ./tests/traps/hosts/forks "$how"
	ends_well profiled "fork-$how" ./tests/traps/hosts/forks "$how"
	check_same_output "fork-$how" "fork-$how-bare"
	check_valid "$work/fork-$how.pb"*
	check_no_stack "$work/fork-$how.pb" child
	check_stack "$(find "$work" -name "fork-$how.pb.*" | head -n 1)" child
done
CPUPROFILE_FREQUENCY=4000 profiles_well profiled churn ./tests/traps/hosts/many-threads 3000
check_stack "$work/churn.pb" short_thread
finish
