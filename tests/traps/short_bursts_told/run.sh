# SPDX-License-Identifier: BSD-3-Clause
# The kernel's tick takes the samples. Where threads run for less than a tick between two waits, the first screen says
# so, and what helps; nothing is said of threads that run on, even if they lose the processor all the time.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/cpu-host

both() { # name command...
	name=$1
	shift
	WALLPROFILE=$work/$name.wall.pb ends_well profiled "$name" "$@"
	check_valid "$work/$name.pb"
	check_valid_as wall "$work/$name.wall.pb"
}
told='^note: [0-9]+ % of the CPU time is of threads that run for less than .*CPROF_CPU_ENGINE=perf'
both bursts "$host" bursts 0.2
check_comment "$work/bursts.pb" "$told"
check_comment "$work/bursts.wall.pb" "$told"
# On one processor, so that they take it from each other.
both long taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')" "$host" threads 2 0.2
for file in long.pb long.wall.pb; do
	"$pprof_check" --comments "$work/$file" | grep -E "$told" && fail "$file: said of threads that never wait"
done
finish
