# SPDX-License-Identifier: BSD-3-Clause
# daemon() ends the parent by libc's own _exit: the parent's work is in its profile, at the path, and the daemon's
# work in the daemon's own. The child of forkpty() has its wall clock from the start, as a child of fork has.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000

# The daemon has the output open to its end.
daemonized() { # name setting...
	status=0
	# shellcheck disable=SC2094
	$limit env "${@:2}" ./tests/traps/daemons/host daemon 2>"$work/$1.err" | cat >"$work/$1.out"
	status=${PIPESTATUS[0]}
}

daemonized bare A=1
check_status bare 0
daemonized away LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/away.pb" WALLPROFILE="$work/away.wall.pb"
check_ended_valid away 0 bare
check_stack "$work/away.pb" parent_work
check_no_stack "$work/away.pb" child_work
child=$(echo "$work"/away.pb.*)
check_valid "$child"
check_stack "$child" child_work
check_no_stack "$child" parent_work
check_stack "$(echo "$work"/away.wall.pb.*)" child_waits

# It stays, where there can be no child.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	mkdir -m 777 "$work/all"
	bare refused ./tests/traps/daemons/host refused
	ends_well profiled all/refused ./tests/traps/daemons/host refused
	check_same_output all/refused refused
	check_stack "$work/all/refused.pb" parent_work
	check_stack "$work/all/refused.pb" child_work
fi

WALLPROFILE="$work/terminal.wall.pb" same_as_bare cpu terminal ./tests/traps/daemons/host forkpty
check_valid "$work/terminal.pb"
check_stack "$(echo "$work"/terminal.wall.pb.*)" child_waits
finish
