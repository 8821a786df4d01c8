# SPDX-License-Identifier: BSD-3-Clause
# SIGKILL, and a stack overflow, after which there is no stack for a handler: the last checkpoint
# is on disk, whole, and the status is what it was.
. "$srcdir/tests/lib/e2e.sh"
ulimit -c 0
CPUPROFILE_FREQUENCY=1000
CPROF_CHECKPOINT=100ms
export CPUPROFILE_FREQUENCY CPROF_CHECKPOINT

start() { # name way
	env LD_PRELOAD=$CP_LIBRARY CPUPROFILE=$work/$1.pb ./tests/traps/hosts/exits "$2" >"$work/$1.out" 2>"$work/$1.err" &
	pid=$!
	owns "$pid"
	wait_for 20 grep -q ready "$work/$1.out" || harm "$1: not ready"
}

# However often it is looked at while it is rewritten, the file is whole.
start kill burn
wait_for 20 test -s "$work/kill.pb" || fail "no checkpoint"
for _ in 1 2 3 4 5; do
	check_valid "$work/kill.pb"
	sleep 0.05
done
old=$(stat -c %i "$work/kill.pb")
recent() {
	[ "$(stat -c %i "$work/kill.pb")" != "$old" ] && "$pprof_check" --raw "$work/kill.pb" | grep -q burn_until_end
}
wait_for 20 recent || fail "the checkpoint is not renewed"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
status=$?
check_status kill 137
check_valid "$work/kill.pb"
check_stack "$work/kill.pb" burn_until_end

# A file that a killed writer left under the temporary name disturbs nobody.
limit=$bounded
bare overflow-bare ./tests/traps/hosts/exits overflow
expected=$status
profiled overflow ./tests/traps/hosts/exits overflow
check_status overflow "$expected"
check_same_output overflow overflow-bare
[ ! -e "$work/overflow.pb" ] || check_valid "$work/overflow.pb"
finish
