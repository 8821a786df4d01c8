# SPDX-License-Identifier: BSD-3-Clause
# The program's environment, and its children's, is what it was but for the two variables that
# started us.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=100

check_environment() { # name command...
	which=$1
	shift
	bare "$which-bare" "$@"
	ends_well profiled "$which" "$@"
	# "_" is the shell's: the path of what it ran, env in one case. In other modes, what
	# tests/lib/modes/env adds is in another order.
	for file in "$which" "$which-bare"; do
		if [ "${CP_MODES:-}" ]; then
			sort "$work/$file.out" | grep -vE '^(LD_PRELOAD|[A-Z]*PROFILE|CPROF_(HEAP|LOCK)_.*|_)='
		else
			grep -vE '^(LD_PRELOAD|CPUPROFILE|_)=' "$work/$file.out"
		fi >"$work/$file.rest"
	done
	cmp -s "$work/$which.rest" "$work/$which-bare.rest" ||
		harm "$which: $(diff "$work/$which.rest" "$work/$which-bare.rest" | head -n 5)"
	grep -qx "CPUPROFILE=$work/$which.pb" "$work/$which.out" || fail "$which: CPUPROFILE is not as it was given"
	grep -qx "LD_PRELOAD=$CP_LIBRARY" "$work/$which.out" || harm "$which: LD_PRELOAD is not as it was given"
}

check_environment self ./tests/traps/hosts/idle environment
check_environment child bash -c './tests/traps/hosts/idle environment; true'
check_environment env sh -c 'env; true'
check_environment exec sh -c 'exec env'
finish
