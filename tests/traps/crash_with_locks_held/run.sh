# SPDX-License-Identifier: BSD-3-Clause
# A real fault, wherever it happens: on an alternate stack, with a lock of malloc, the loader or stdio held, by that
# thread or another. The profile is written without any of these locks, and the program dies of the fault.
. "$srcdir/tests/lib/e2e.sh"
ulimit -c 0
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for way in fault fault-altstack fault-malloc fault-phdr fault-phdr-other fault-printf fault-thread division trap; do
	bare "$way-bare" ./tests/traps/hosts/exits "$way"
	expected=$status
	[ "$expected" -gt 128 ] || echo "# $way is no fault on this machine"
	profiled "$way" ./tests/traps/hosts/exits "$way"
	check_ended_valid "$way" "$expected" "$way-bare"
	check_stack "$work/$way.pb" work_before_the_end
done
finish
