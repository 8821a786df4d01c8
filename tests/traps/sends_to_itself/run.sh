# SPDX-License-Identifier: BSD-3-Clause
# The program sends SIGPROF to its own thread while a sample is pending for it: the kernel keeps one signal of a
# number, and drops another. It must drop neither the program's nor all of the profiler's.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
host=./tests/traps/sends_to_itself/host
export CPROF_CPU_ENGINE CPUPROFILE_FREQUENCY
ends_well bare bare "$host" all
bare bare-die "$host" die
check_status bare-die 155
for CPROF_CPU_ENGINE in timer perf; do
	engine=$CPROF_CPU_ENGINE
	CPUPROFILE_FREQUENCY=1000
	ends_well profiled "$engine" "$host" all
	check_same_output "$engine" bare
	check_valid "$work/$engine.pb"
	check_stack "$work/$engine.pb" 'burn.*;after_sends'
	grep -q 'perf is not possible' "$work/$engine.err" || check_quiet "$engine"
	# A sample that was pending is one of whoever sent.
	check_stack "$work/$engine.pb" 'check_send.*;inside'
	profiled "$engine-die" "$host" die
	check_status "$engine-die" 155
	check_valid "$work/$engine-die.pb"
done
CPUPROFILE_FREQUENCY=99
ends_well profiled first "$host" first
check_valid "$work/first.pb"
check_stack "$work/first.pb" 'burn.*;after_sends;early'
# The pacer sets its timers again and again, and what they have sent is then void.
WALLPROFILE_FREQUENCY=1000 same_as_bare wall wall "$host" all
# A filter that was there before us refuses the signal that we would send in its place. Under a heap profile no
# sample comes to end the program instead; under a wall profile one may be pending then.
status=0
"$host" refused true || status=$?
if [ "$status" = 0 ]; then
	for variable in CPUPROFILE HEAPPROFILE WALLPROFILE; do
		for how in plain die; do
			expected=0
			[ $how = plain ] || expected=155
			bare "refused-$variable" "$host" refused env LD_PRELOAD="$CP_LIBRARY" "$variable=$work/refused.pb" \
				"$host" $how
			check_status "refused-$variable" $expected
		done
	done
fi
finish
