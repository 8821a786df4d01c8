# SPDX-License-Identifier: BSD-3-Clause
# Trap: a program written for gperftools relies on what its functions say and do: states, names that are
# too long or look like templates, a wall clock, a stack in a handler, a text where there is nothing.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded

host() { # way variable=value...
	way=$1
	shift
	mkdir "$work/$way"
	ends_well bare "$way" env "$@" ./tests/traps/hosts/gperftools-contract "$way" "$work/$way"
	[ ! -s "$work/$way.out" ] || fail "$way: $(cat "$work/$way.out")"
	check_quiet "$way"
}

host realtime CPUPROFILE_REALTIME=1 CPUPROFILE_FREQUENCY=100
check_valid_as wall "$work/realtime/realtime.prof"
check_stack "$work/realtime/realtime.prof" 'nap;'
host state CPUPROFILE="$work/state.prof"
rm -r "$work/state"
host state CPUPROFILE="$work/state.prof" CPUPROFILE_REALTIME=1
host stack
host names
host text
check_comment "$work/text/text%p.0001.heap" '^dump: before the'
finish
