# SPDX-License-Identifier: BSD-3-Clause
# A profile that is toggled off, and whose checkpoint is due: the collector sleeps, as there is nothing to write. (It
# was awake all the time, and took a whole processor.)
. "$srcdir/tests/lib/e2e.sh"
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/toggled.pb" CPUPROFILESIGNAL=USR1 CPROF_CHECKPOINT=10ms sleep 1000 &
pid=$!
owns $pid
sleep 1
ticks=$(($(cut -d' ' -f14,15 "/proc/$pid/stat" | tr ' ' +)))
[ "$ticks" -lt 10 ] || harm "the process has used $ticks ticks of CPU time while it slept"
kill -KILL $pid
wait $pid 2>/dev/null
finish
