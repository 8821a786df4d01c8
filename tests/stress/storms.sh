# SPDX-License-Identifier: BSD-3-Clause
# The storms among the trap tests, again and again: each for STRESS_SECONDS (default 120). A test that fails once in a
# thousand runs fails here. Ends with status 1 after the first failure of each.
set -u

seconds=${STRESS_SECONDS:-120}
failed=0

storm() { # script [CPU engine]
	what="$1${2:+ with the engine $2}"
	end=$(($(date +%s) + seconds))
	runs=0
	while [ "$(date +%s)" -lt "$end" ]; do
		runs=$((runs + 1))
		CPROF_CPU_ENGINE=${2:-auto} bash "$srcdir/tests/traps/${1#trap_}/run.sh" >storm.log 2>&1 && continue
		[ $? = 77 ] && { echo "$what: skipped: $(tail -n 1 storm.log)"; return; }
		echo "$what: run $runs failed:"
		cat storm.log
		failed=1
		return
	done
	echo "$what: $runs runs"
}

for script in trap_handler_takes_no_lock trap_exception_storm trap_dlclose_while_walking \
	trap_dump_in_handler trap_fork_while_others_work trap_many_short_threads \
	trap_descriptors_closed trap_small_and_alternate_stack trap_lock_storm; do
	storm "$script"
done
for script in trap_handler_takes_no_lock trap_exception_storm trap_dlclose_while_walking \
	trap_many_short_threads; do
	storm "$script" perf
done
rm -f storm.log
exit $failed
