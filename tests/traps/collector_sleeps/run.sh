# SPDX-License-Identifier: BSD-3-Clause
# The collector sleeps while there is nothing for it to do.
. "$srcdir/tests/lib/e2e.sh"

# Toggled off, and a checkpoint is due: there is nothing to write. (It was awake all the time, and took a processor.)
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/toggled.pb" CPUPROFILESIGNAL=USR1 CPROF_CHECKPOINT=10ms sleep 1000 &
pid=$!
owns $pid
sleep 1
ticks=$(($(cut -d' ' -f14,15 "/proc/$pid/stat" | tr ' ' +)))
[ "$ticks" -lt 10 ] || harm "the process has used $ticks ticks of CPU time while it slept"
kill -KILL $pid
wait $pid 2>/dev/null

# Signals of the program's threads, as each tick of a timer is one, don't concern it. (Each woke it: a switch of tasks.)
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/signals.pb" CPUPROFILE_FREQUENCY=1 bash -c '
	wakes() {
		local task key value
		for task in /proc/$$/task/*; do
			read -r value <"$task/comm"
			[ "$value" = cprof ] || continue
			while read -r key value; do
				[ "$key" != voluntary_ctxt_switches: ] || echo "$value"
			done <"$task/status"
		done
	}
	trap : URG
	sleep 0.5
	before=$(wakes)
	for ((i = 0; i < 4000; i++)); do kill -URG $$; done
	echo $(($(wakes) - before))
' >"$work/wakes" || harm "a program that sends itself signals failed: $(cat "$work/wakes")"
read -r wakes <"$work/wakes"
[ "$wakes" -lt 100 ] || harm "4000 signals of the program woke the collector $wakes times"
finish
