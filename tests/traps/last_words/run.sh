# SPDX-License-Identifier: BSD-3-Clause
# Handlers after which the process ends by libc's or the kernel's own means: those for one call (SA_RESETHAND, as node
# has for SIGINT and SIGTERM), and SIGABRT's, when they return to abort(). There is a profile, and the handlers notice
# nothing.
. "$srcdir/tests/lib/e2e.sh"
ulimit -c 0
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
same() { # way signal-number
	bare "$1-bare" ./tests/traps/last_words/host "$1"
	check_status "$1-bare" $((128 + $2))
	profiled "$1" ./tests/traps/last_words/host "$1"
	check_status "$1" $((128 + $2))
	check_same_output "$1" "$1-bare"
	check_quiet "$1"
	check_valid "$work/$1.pb"
	check_stack "$work/$1.pb" work_before_the_end
}

same raise 15
same second 2
same fault 11
same alternate 15
same abort 6
same abort-once 6
same renewed 10
same fork 15
same vfork 15

# On a stack that has room only for the program's handlers: without a profile, if need be.
for how in small small-writes; do
	bare $how-bare ./tests/traps/last_words/host $how
	check_status $how-bare 143
	grep -q 'not so' "$work/$how-bare.out" && fail "$how-bare: $(cat "$work/$how-bare.out")"
	IOPROFILE=$work/$how.io.pb same_as_bare cpu $how ./tests/traps/last_words/host $how
done

bare late-bare ./tests/traps/last_words/host late
check_status late-bare 143
bare late env LD_PRELOAD="$CP_LIBRARY" LATE_PROFILE="$work/late.pb" ./tests/traps/last_words/host late
check_status late 143
check_same_output late late-bare
check_valid "$work/late.pb"
check_stack "$work/late.pb" work_before_the_end
finish
