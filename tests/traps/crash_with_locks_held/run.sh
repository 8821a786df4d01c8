# SPDX-License-Identifier: BSD-3-Clause
# A real fault, wherever it happens: on an alternate stack, with a lock of malloc, the loader or stdio held, by that
# thread or another. The profile is written without any of these locks, and the program dies of the fault.
. "$srcdir/tests/lib/e2e.sh"
need timeout
ulimit -c 0
limit=$bounded
CPUPROFILE_FREQUENCY=1000
export CPUPROFILE_FREQUENCY
for way in fault fault-altstack fault-malloc fault-phdr fault-phdr-other fault-printf fault-thread division trap; do
	bare "$way-bare" ./tests/traps/hosts/exits "$way"
	expected=$status
	[ "$expected" -gt 128 ] || echo "# $way is no fault on this machine"
	profiled "$way" ./tests/traps/hosts/exits "$way"
	check_status "$way" "$expected"
	check_same_output "$way" "$way-bare"
	check_quiet "$way"
	check_valid "$work/$way.pb"
	check_stack "$work/$way.pb" work_before_the_end
done
finish
