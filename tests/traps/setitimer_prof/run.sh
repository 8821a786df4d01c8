# SPDX-License-Identifier: BSD-3-Clause
# The program uses setitimer(ITIMER_PROF) itself.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/sigprof-host
export CPUPROFILE_FREQUENCY=1000
ends_well bare bare "$host" itimer
same_as_bare cpu itimer "$host" itimer
check_valid "$work/itimer.pb"
check_stack "$work/itimer.pb" burn

bare bare-die "$host" die itimer
check_status bare-die 155
profiled die "$host" die itimer
check_status die 155
check_valid "$work/die.pb"
check_stack "$work/die.pb" burn
finish
