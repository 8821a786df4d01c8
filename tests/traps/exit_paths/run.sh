# SPDX-License-Identifier: BSD-3-Clause
# Every way in which a program may end by itself leaves a complete profile, and ends it as before:
# same output, same status, atexit handlers run once.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for way in return exit exit-in-thread _exit _Exit quick_exit exit_group; do
	bare "$way-bare" ./tests/traps/hosts/exits "$way"
	expected=$status
	profiled "$way" ./tests/traps/hosts/exits "$way"
	check_ended_valid "$way" "$expected" "$way-bare"
	check_stack "$work/$way.pb" work_before_the_end
done
check_stack "$work/exit-in-thread.pb" work_of_thread
[ "$(find "$work" -name '*.tmp' | wc -l)" = 0 ] || fail "temporary files are left"
finish
