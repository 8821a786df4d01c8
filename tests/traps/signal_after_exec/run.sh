# SPDX-License-Identifier: BSD-3-Clause
# The profiling signal arrives after execve, with its default action: "Profiling timer expired".
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/signal_after_exec/host
engines=auto
CPROF_CPU_ENGINE=perf profiled probe true
grep -q 'CPROF_CPU_ENGINE=perf is not possible' "$work/probe.err" || engines="auto perf"
for engine in $engines; do
	for how in execve fail spawn; do
		CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=1000 same_as_bare cpu "$engine-$how" "$host" "$how"
		check_valid "$work/$engine-$how.pb"
		check_stack "$work/$engine-$how.pb" 'burn.*;work'
	done
done
finish
