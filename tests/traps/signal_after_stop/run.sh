# SPDX-License-Identifier: BSD-3-Clause
# The profiling signal arrives after the stop.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/signal_after_stop/host
ends_well bare bare "$host" "$work/unused.pb"
preloaded() { # label arguments...
	label=$1
	shift
	bare "$label" env LD_PRELOAD="$CP_LIBRARY" "$host" "$@"
}
preloaded stopped "$work/stopped.pb"
check_ended_valid stopped 0 bare
# The program's own still does what it would have done.
preloaded dies "$work/dies.pb" die
check_status dies 155
check_same_output dies bare
check_valid "$work/dies.pb"
finish
