# SPDX-License-Identifier: BSD-3-Clause
# Trap: a saved mask comes back without a call for masks: siglongjmp and setcontext restore it, swapcontext restores
# that of another thread of the program's own, and a change in a handler ends with the handler. The mask that is then
# in force decides which mask the program is shown, and when it gets its SIGPROFs.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/mask_comes_back/host
limit="timeout -s KILL 20"
ends_well bare bare "$host"
for engine in timer perf; do
	CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=1000 ends_well profiled "$engine" "$host"
	check_same_output "$engine" bare
	check_valid "$work/$engine.pb"
done
check_quiet timer

# The marker in the kernel's mask isn't inherited.
for way in exec fork spawn thread; do
	bare "bare-$way" "$host" "$way" "$host"
	profiled "$way" "$host" "$way" "$host"
	check_ended "$way" 0 "bare-$way"
done
finish
